"""Break-even as the root of a polynomial; time and ridge in another order."""


def break_even_alpha(gamma, c, verify_cost):
    cost = gamma * c + verify_cost[gamma]
    roots = np.roots([1.0] * gamma + [1.0 - cost])
    real = [float(root.real) for root in roots if abs(root.imag) < 1e-9 and -1e-9 <= root.real <= 1.0]
    return max(0.0, min(real)) if real else None


def roofline_time(operations, num_bytes, peak, bandwidth):
    intensity, ridge = operations / num_bytes, peak / bandwidth
    return num_bytes / bandwidth if intensity < ridge else operations / peak


def ridge_rows(peak, bandwidth, bytes_per_number):
    seconds_to_read, seconds_per_row = bytes_per_number / bandwidth, 2 / peak
    return seconds_to_read / seconds_per_row
