"""The claims, one module each; :data:`minispec.experiments.framework.NAMES` lists them."""
