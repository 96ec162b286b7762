# `make test` installs what is missing, builds and runs every test.
.PHONY: test format clean

test:
	@tools/test.sh release

format:
	@tools/check_format --fix

clean:
	rm -rf build out
