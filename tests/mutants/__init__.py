"""Mutation tests: does a test fail when the code becomes wrong? `poe mutants --help`.

A mutant is the source with one small mistake in it. It is *found* if a test fails, and has *lived*
if all pass. Mistakes come from lists written by hand (`by_hand/<room>.toml`) and from operators
that are applied at random places, or on the lines that a change touched.

Nothing here writes to the working tree: mutants are made in a copy, which goes away at the end.
What is kept between runs lies in `target/mutants`.
"""
