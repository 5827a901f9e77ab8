"""You divide operations by the bandwidth and bytes by the peak; it is the other way round."""

FAILS = "a3.q6.time"


def roofline_time(operations, num_bytes, peak, bandwidth):
    return max(operations / bandwidth, num_bytes / peak)
