"""`switchbed tune`: which setting of a scheme, told by a race over paired seeds (`race`) of a grid
that the target can hold (`grid`, `target`), on the store and the engines of sweeps (`field`)."""
