# `make test` installs what is missing, builds and runs every test.
preset := $(if $(CI),ci,release)

.PHONY: test format clean

test:
	@tools/test.sh $(preset)

format:
	@tools/check_format --fix

clean:
	rm -rf build out
