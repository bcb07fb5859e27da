"""What changes when rows come from elsewhere: class frequencies, and bets against calibration."""

__all__: list[str] = []
