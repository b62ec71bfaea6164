"""The lessons as programs: on other versions, as a learner works them, and as notebooks."""
