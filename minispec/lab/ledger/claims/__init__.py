"""The claims, one module each; :data:`minispec.lab.ledger.framework.NAMES` lists them."""
