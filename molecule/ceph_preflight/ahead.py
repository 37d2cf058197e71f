"""A double of a time server that is 3 s ahead, and keeps some who ask waiting.

usage: ahead.py ADDRESS
"""

import random
import socket
import struct
import sys
import time

FIRST_S = 2208988800  # from 1900 to 1970


def main(address: str) -> None:
    """Answer for ever."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((address, 123))
        while True:
            asked, who = server.recvfrom(512)
            moment = time.time() + 3
            time.sleep(random.choice((0, 0, 0.05)))
            told = [struct.pack("!II", int(at) + FIRST_S, int(at % 1 * 2**32)) for at in (moment, time.time() + 3)]
            server.sendto(bytes([0x24, 2, 0, 0xE9]) + bytes(20) + asked[40:48] + b"".join(told), who)


main(sys.argv[1])
