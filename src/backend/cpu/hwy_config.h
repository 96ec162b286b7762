// The Highway targets that Tenon compiles. Include before any Highway header.
//
// Two targets: AVX2 (with FMA and F16C) and AVX3 (AVX-512 F, VL, DQ, BW). To add one: a row in
// kTargetRows (targets.cc), an enumerator in targets.h, its bit here. Every function in the *-inl.h
// headers returns the same bits on every target, so a new one needs no new expected values.
//
// The baseline is declared to be AVX2 although the files are compiled for plain x86-64: Highway
// then leaves out its scalar target, and each target's code carries its own attribute. A kernel
// compiled at run time for one target gets StaticTargetFlags() (targets.h), which set the baseline.
#pragma once

#ifndef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2
#endif
#define HWY_DISABLED_TARGETS (~(HWY_AVX2 | HWY_AVX3))
