# `make demo` shows what Tenon does on a real model; `make test` builds and runs every test. Both
# install what is missing.
preset := $(if $(CI),ci,release)

.PHONY: demo test format clean

demo:
	@tools/demo.sh

test:
	@tools/test.sh $(preset)

format:
	@tools/check_format --fix

clean:
	rm -rf build out
