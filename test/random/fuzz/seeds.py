"""Seeds of random tests, as their command lines say them."""
import time


def seed_of(text):
    """`fresh` takes one from the clock; what was taken belongs into the output."""
    return str(time.time_ns() % 1000000) if text == "fresh" else text
