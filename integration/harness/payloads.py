"""What a hostile guest writes, by row of the catalogue of known escapes.

Each is to be refused with not a byte sent on. EVIL behind one is a request
that is seen on its own when the two sides count bytes differently.
"""
HOST = b"Host: api.example.com\r\n"
EVIL = b"GET /open/evil HTTP/1.1\r\n" + HOST + b"\r\n"
POST = b"POST /open/p HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


def _posts(*fields):
    return [POST + f + b"\r\n\r\n0\r\n\r\n" + EVIL for f in fields]


def _lines(*lines):
    return [line + b"\r\n" + HOST + b"\r\n" + EVIL for line in lines]


def _heads(*fields):
    return [b"GET /open/x HTTP/1.1\r\n" + f + b"\r\n" for f in fields]


def _gets(*targets):
    return [b"GET " + t + b" HTTP/1.1\r\n" + HOST + b"\r\n" for t in targets]


HEADS = {
    36: _posts(b"Content-Length: 5\r\nTransfer-Encoding: chunked",
               b"Transfer-Encoding: chunked\r\nContent-Length: 5"),
    37: _posts(b"Content-Length: 0\r\nContent-Length: 62",
               b"Content-Length: 5\r\nContent-Length: 5",
               b"Content-Length: 5, 5", b"Content-Length: 5,6"),
    38: _posts(*(b"Content-Length: " + v for v in (
        b"+10", b"-0", b"-48", b"0x10", b"010", b"1_0", b"1Z", b" 5", b"5 ",
        b"", b"18446744073709551616", b"18446744073709551615",
        b"9007199254740993", b"5\x0b", b"1 0", b"\t5", b"00"))),
    39: _posts(*(b"Transfer-Encoding: " + v for v in (
        b",chunked", b"chunked,", b"xchunked", b"identity",
        b"chunked, identity", b"identity, chunked", b"chunked;a=b",
        b"\x0bchunked", b"\xa0chunked", b"\tchunked", b"chunked ",
        b"chunked\r\nTransfer-Encoding: chunked", b"chunked\0",
        b"\r\n chunked", b"gzip, chunked", b'"chunked"', b""))),
    40: [b"POST /open/p HTTP/1.0\r\n" + HOST
         + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + EVIL],
    45: [b"GET /open/x HTTP/1.1\nHost: api.example.com\n\n" + EVIL,
         b"GET /open/x HTTP/1.1\r\n" + HOST + b"A: x\rB: y\r\n\r\n" + EVIL,
         b"GET /open/x HTTP/1.1\r\n" + HOST + b"\r\rX\r\n\r\n" + EVIL,
         b"GET /open/x HTTP/1.1\r\n" + HOST + b"A:\n\n" + EVIL],
    46: [b"GET /open/x HTTP/1.1\r\n fold\r\n" + HOST + b"\r\n" + EVIL,
         b"GET /open/x HTTP/1.1\r\nHost:\r\n api.example.com\r\n\r\n",
         b"GET /open/x HTTP/1.1\r\n" + HOST + b"A: b\r\n\tc\r\n\r\n"],
    47: _posts(b"Content-Length : 34", b"\tContent-Length: 1", b": x", b":",
               b"Te\nst: x", b"Content-Length 10", b"X\x85: x", b"X Y: z",
               b"(x): y", b"X"),
    48: _posts(b"X: v\0alue", b"X: \x0c", b"X: \x7f", b"X\0: y"),
    49: _posts(b"Transfer_Encoding: chunked", b"Transfer-Encoding : chunked",
               b"Content_Length: 5", b"X_Forwarded_For: x",
               b"Proxy_Authorization: x"),
    50: _lines(b"GET  /open/x HTTP/1.1", b"GET\t/open/x HTTP/1.1",
               b"GET /open/x\tHTTP/1.1", b"GET /open/x\nHTTP/1.1",
               b"GET /open/x http/1.1", b"GET /open/x HTTP/1.32",
               b"GET /open/x HTTP/01.1", b"GET /open/x HTTP/4294967297.1",
               b"GET /open/x", b"ICY", b'G=":<>(e),[T];?" /open/x HTTP/1.1',
               b"\r\n\r\nGET /open/x HTTP/1.1", b" GET /open/x HTTP/1.1",
               b"GET /open/x HTTP/1.1 ", b"GET /open/x HTTP/2.0",
               b"GET open/x HTTP/1.1", b"GET /open/\xff HTTP/1.1",
               b"GET * HTTP/1.1", b"PRI * HTTP/2.0"),
    52: _posts(b"Expect: x 100-continue\r\nContent-Length: 5",
               b"Expect: 100-continue, x\r\nContent-Length: 5",
               b"Expect: 200-ok\r\nContent-Length: 5"),
    62: _heads(HOST + HOST, HOST + b"Host: evil.example.com\r\n",
               b"Host: api.example.com, evil.example.com\r\n",
               b"Host : api.example.com\r\n"),
    63: _heads(b"", b"Host:\r\n", b"Host: \r\n")
    + [b"GET /open/x HTTP/1.0\r\n\r\n"],
    64: _heads(*(b"Host: " + v + b"\r\n" for v in (
        b"allowed@api.example.com", b"api.example.com/evil",
        b"api.example.com#x", b"[api.example.com]", b"api.example.com:",
        b"api.example.com:0443", b"api.example.com:+443",
        b"api.example.com:443:443", b"api.example.com..",
        b"api.example.com\0", b"api.example.com%2e", b"127.0.0.1", b"[::1]",
        b"api_x.example.com", b"api.example.com:65979"))),
    65: _gets(b"/open/x#f", b"/open/x#.png"),
    66: _gets(b"/open/../x", b"/open/..", b"/open/./x", b"//open/x",
              b"/open//x", b"/open/%2e%2e/x", b"/open/%2E./x", b"/open/x;y",
              b"/open/%2fx", b"/open/a\\b", b"/open/a%5cb", b"/open/%00",
              b"/OPEN/x", b"/open/%c0%ae%c0%ae/x", b"/open/%", b"/open/%zz",
              b"/open", b"/openx", b"/open/%252e%252e%252fx", b"/%6fpen/x",
              b"/open/%3b"),
    72: _gets(b"http://api.example.com/open/x",
              b"https://evil.example.com/open/x",
              b"https://api.example.com:80/open/x",
              b"https://u@api.example.com/open/x",
              b"http://evil.example.com/", b"ftp://api.example.com/open/x",
              b"https:///open/x",
              b"https://api.example.com\\@evil.example.com/open/x")
    + [b"CONNECT " + t + b" HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n"
       for t in (b"api.example.com:443", b"evil.example.com:443", b"/")],
    104: [m + b" /open/x HTTP/1.1\r\n" + HOST + b"\r\n" for m in (
        b"TRACE", b"trace", b"get", b"DELETE", b"GETX", b"PATCH")],
}

# Behind a head that is in order, so that it is sent on.
BODIES = {
    41: [v + b"\r\nABCDE\r\n0\r\n\r\n" + EVIL for v in (
        b"0x5", b"+5", b"-0x0", b"0_2e", b" 5", b"5 ", b"",
        b"00000000000000000", b"10000000000000000", b"5\n", b"5\rX",
        b"fffffffffffffffff")],
    42: [v + b"\r\nABCDE\r\n0\r\n\r\n" + EVIL for v in (
        b"5;", b"5;a\nb", b"5;\r\rX", b"5;" + b"a" * 300,
        b'5;a="\r\n"')],
    43: [v + EVIL for v in (
        b"5\r\nABCDEFG\r\n0\r\n\r\n", b"5\r\nABCDE\r\n0\r\nXX",
        b"5\r\nABCDE0\r\n\r\n", b"5\r\nABCDE\n0\n\n",
        b"5\r\nABCDE\r\n0\n\n", b"0\r\nX: y\n\r\n\r\n",
        b"0\r\n X: y\r\n\r\n", b"0\r\n: y\r\n\r\n", b"0\r\nX\r\n\r\n")],
}

POISON = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"


def _answer(head, body=b""):
    return b"HTTP/1.1 " + head + b"\r\n\r\n" + body


# Answers of an origin: {what it is: (bytes, is it refused)}.
ANSWERS = {
    "two at once": (_answer(b"200 OK\r\nContent-Length: 2", b"ok") + POISON,
                    False),
    "CL and TE": (_answer(
        b"200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked",
        b"0\r\n\r\n") + POISON, True),
    "two CL": (_answer(b"200 OK\r\nContent-Length: 2\r\nContent-Length: 2",
                       b"ok"), True),
    "CL +2": (_answer(b"200 OK\r\nContent-Length: +2", b"ok"), True),
    "TE xchunked": (_answer(b"200 OK\r\nTransfer-Encoding: xchunked",
                            b"0\r\n\r\n"), True),
    "TE in 1.0": (b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                  b"0\r\n\r\n", True),
    "204 with a length": (_answer(b"204 No\r\nContent-Length: 44") + POISON,
                          True),
    "204 with a body": (_answer(b"204 No") + POISON, False),
    "304 with a body": (_answer(b"304 No\r\nContent-Length: 44") + POISON,
                        False),
    "8 interim": (_answer(b"103 Early") * 8
                  + _answer(b"200 OK\r\nContent-Length: 2", b"ok"), False),
    "9 interim": (_answer(b"103 Early") * 9
                  + _answer(b"200 OK\r\nContent-Length: 2", b"ok"), True),
    "100 with a length": (_answer(b"100 C\r\nContent-Length: 5", b"abcde"),
                          True),
    "101 unasked": (_answer(
        b"101 S\r\nUpgrade: websocket\r\nConnection: upgrade", b"raw"), True),
    "HTTP/2.0": (b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", True),
    "bare LF": (b"HTTP/1.1 200 OK\nContent-Length: 0\n\n", True),
    "obs-fold": (_answer(b"200 OK\r\nX: a\r\n b\r\nContent-Length: 0"), True),
    "blank before the colon": (_answer(b"200 OK\r\nContent-Length : 0"),
                               True),
    "NUL in a field": (_answer(b"200 OK\r\nX: a\0b\r\nContent-Length: 0"),
                       True),
    "CR in the reason": (_answer(b"200 O\rK\r\nContent-Length: 0"), True),
    "status 999": (_answer(b"999 OK\r\nContent-Length: 0"), True),
    "status 099": (_answer(b"099 OK\r\nContent-Length: 0"), True),
    "CRLF first": (b"\r\n" + _answer(b"200 OK\r\nContent-Length: 0"), True),
    "a head of 100 KB": (_answer(b"200 OK\r\nX: " + b"a" * 100000), True),
    "300 fields": (_answer(b"200 OK" + b"\r\nX: a" * 300), True),
    "chunks, and more": (_answer(b"200 OK\r\nTransfer-Encoding: chunked",
                                 b"2\r\nok\r\n0\r\n\r\n") + POISON, False),
    "a trailer": (_answer(b"200 OK\r\nTransfer-Encoding: chunked",
                          b"2\r\nok\r\n0\r\nSet-Cookie: x\r\n\r\n"), False),
    "a chunk too long": (_answer(b"200 OK\r\nTransfer-Encoding: chunked",
                                 b"FFFFFFFFFFFFFFFFF\r\nx"), False),
}
