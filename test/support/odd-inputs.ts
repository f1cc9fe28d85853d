const words = (text: string) => text.trim().split(/\s+/)

/** Values of parameters (RFC 9651 section 3.3), and what is none. */
export const ODD_ITEMS: readonly string[] = [
  ...words(`
    0 -0 00 -00 1 -1 1.0 0.0 -0.0 -0.1 -0.001 1.50 0.100 1.0000 1. .5 - 1e3 1800000000 1800000000.0
    999999999999999 1000000000000000 999999999999.999 1234567890123.0 -999999999999.001 123456789.123 0.001 10.010
    ?1 ?0 ?2 @0 @-1 @-0 @1.5 @ @999999999999999 "a" "" tok *tok to/k:en cimd directory "cimd" :AAAA: :: :A: :AA==:
    :AB==: :AAA=: :AAA: :AA-_: %"a" ("a") "https://evil.example" "ed25519"
  `),
  ...['', '"a\\"b"', '"\\a"', '"é"'],
]

/** Values of parameters, each with the one form in which it is signed. */
export const ITEMS: readonly string[] = [
  ...words(`
    0 -0 1.0 0.0 -0.0 -0.1 -0.001 1.50 0.100 999999999999.999 123456789.123 10.010 999999999999999 ?1 ?0 @0 @-0
    @-1 "a" "" tok *tok to/k:en :AAAA: :: :AA==: "https://evil.example"
  `),
  ...['"a\\"b"'],
]

/** Components to put before the others, and what is none. */
export const ODD_COMPONENTS: readonly string[] = [
  ...words(`
    "@scheme" "@target-uri" "@request-target" "@query" "x-a" "date" "X-A" "x-a";key="a" "x-a";bs "x-a";sf "x-none"
    "@status" "@query-param";name="a" "signature" "signature-input" x-a "" "host" "content-length" "*"
    "@method";req
  `),
  ...['"x-a" "x-a"', '"x a"', '"x-a" '],
]

/** Addresses, canonical or not. */
export const ODD_ADDRESSES: readonly string[] = [
  ...words(`
    https://[fe80::1%25eth0] https://[fe80::1%eth0] https://[::1] https://[::ffff:1.2.3.4] https://[::FFFF:1]
    https://[0:0::1] https://[1::2:0:0:3] https://[2001:db8::1] https://[::127.0.0.1] https://[1:2:3:4:5:6:7:8]
    https://[1:0:0:2:0:0:0:3] https://[0:1::] https://[::ffff:7f00:1] https://[1::0:0:3:4:5:6] https://a_b.example
    https://a..b https://-a https://a- https://a. https://.a https://_ https://- https://1.2.3 https://1.2.3.4
    https://1.2.3.4. https://0x7f.1 https://0x https://127.1 https://2130706433 https://256.1.1.1 https://01.2.3.4
    https://a.1 https://1.a https://a.0x1 https://a.0xg https://a.09 https://a%41 https://a%2e https://a!b
    https://a*b https://a~b https://a'b https://a$b https://a&b https://a(b https://a)b https://a+b https://a,b
    https://a;b https://a=b https://a{b https://a}b https://a|b https://a^b https://a<b https://xn--a https://xn--
    https://xn--a- https://xn--80ak6aa92e.com https://xn--bcher-kva.example https://a.xn-- https://xn--zz.example
    https://a--b https://ab--c https://localhost https://127.0.0.1 https://Bots.example https://xn--A
    https://bots.example:0 https://bots.example:443 https://bots.example:80 https://bots.example:65535
    https://bots.example:65536 https://bots.example:08443 https://bots.example: https://user@bots.example
    https://:@bots.example https://
    https://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example http://localhost
    http://127.0.0.1:80 http://127.0.0.1:8080 http://[::1]:8080/ http://127.1 http://127.256.0.1 ftp://a
    https:bots.example https:///bots.example HTTPS://bots.example data:, https://bots.example?
    https://bots.example/? https://bots.example/a? https://bots.example?x https://bots.example/
    https://bots.example// https://bots.example/a/ https://bots.example/a%2 https://bots.example/a%zz
    https://bots.example/a'b?c'd https://bots.example/a^b https://bots.example/a|b https://bots.example/a{b}
    https://bots.example/% https://bots.example/# https://bots.example/a?b# https://bots.example/a[b]
    https://bots.example/a<b https://bots.example/a;b https://bots.example/../a https://bots.example/./a
    https://bots.example/%2e/a https://bots.example/a/.. https://bots.example/a/.%2E https://bots.example/.a
    https://bots.example/..a https://bots.example/?a{b}|^ https://bots.example/card https://bots.example/~a
  `),
  ...[
    'https://a`b',
    'https://a b',
    'https:\\\\bots.example',
    'https://bots.example/a`b',
    'https://bots.example/a b',
    'https://bots.example/é',
    'https://bots.example/a\\\\b',
    'https://bots.example/?a`b',
  ],
  `https://${'a'.repeat(64)}.example`,
  `https://${'a.'.repeat(130)}example`,
]

/** Targets of requests, in the form that clients send or not. */
export const ODD_TARGETS: readonly string[] = [
  ...words(`
    / * // /a//b /;a /a%2 /a%zz /[ /a] /a|b /it's /a^b /a{b} /%2e /a/%2E%2e/b /a/%2e /a/.. /. /.. /.a /a"b /< ?a
    /?a#b /?a'b /a?< /a?" /orders? /a?[] /~a /a:b /@ /a&b=c /a,b /a$ /a+b /a! /a(b) /% /%00 /%C3%A9 /%c3%a9 /#
    https://shop.example/x HTTPS://shop.example/x https://SHOP.example https://shop.example:443/x
    http://shop.example/x https://evil.example/x https://shop.example?x https://user@shop.example/ https:/orders
  `),
  ...['', '/a`b', '/é', '/a\\b', '/a b', '/', '/a?`{}|^', '/a?é', '/a?\\', '/orders\n', '/orders '],
]

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

/** Values of members of JSON, and what is none. */
export const ODD_JSON: readonly string[] = [
  ...words(`
    -0 -0.0 0 1 1.0 1.5 -1 1e400 -1e400 1E2 1e-7 1800000000.0 1800000000.5 1799999940 18e8 9007199254740991
    9007199254740992 9007199254740993 1799999939.9 2147483647 2147483648 131071 131072 1e2147483648
    999999999999999999999999999999 NaN Infinity -Infinity 01 .5 1. +1 0x1 null true false True undefined "" [] {}
    {"a":1} {"a":1,"a":2} [1,] 'a' "verified" "unverified" "A" "F" "active" "high" "in-person"
    "2026-02-28T00:00:00.000Z" "2026-02-29T00:00:00.000Z" "2026-02-30T00:00:00.000Z" "2028-02-29T00:00:00.000Z"
    "2026-13-01T00:00:00.000Z" "2026-01-32T00:00:00.000Z" "2026-04-31T12:00:00.000Z" "2026-01-01T24:00:00.000Z"
    "2026-01-01T23:59:60.000Z" "2026-01-01T00:00:00Z" "2026-01-01T00:00:00.000+00:00" "2026-01-01T00:00:00.000z"
    "0000-01-01T00:00:00.000Z" "0001-01-01T00:00:00.000Z" "12026-01-01T00:00:00.000Z" "2026-1-1T00:00:00.000Z"
    "2026-00-01T00:00:00.000Z" "2026-01-00T00:00:00.000Z" "9999-12-31T23:59:59.999Z"
    "svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj" "svc:agent:7Xk2mPqR9sTvWyZaBcDeFgH0" "svc:agent:"
    "acme:agent:7Xk2mPqR9sTvWyZaBcDeFgHj" "https://id.example" "https://id.example/" "https://id.example/status/1"
    "https://id.example/status/01" "https://id.example/status/12345678901" "https://shop.example"
    [[[[[[[[[[]]]]]]]]]] [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
  `),
  ...[
    '"\\ud800"',
    '"\\u0000"',
    '"\\x41"',
    '"a\tb"',
    '" "',
    '"\\u00e9"',
    '"\\/"',
    '"2026-01-01 00:00:00.000Z"',
    '"٢٠٢٦-01-01T00:00:00.000Z"',
  ],
  ...['9'.repeat(5_000), `1.${'0'.repeat(5_000)}`, `-${'9'.repeat(4_301)}`],
  ...[nested(31), nested(32), nested(64), nested(2_000), nested(20_000)],
  `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`,
]
