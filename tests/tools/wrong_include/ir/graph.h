#pragma once
#include "ops/registry.h"
