"""Networks of our own, trained on real pixels, so that the whole chain can be repeated."""
