import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../../../../test/support/service.ts'

// Envoy and Traefik are not run, so their patterns are compared with names that clients may forge.

/** Every character that header names may contain besides letters and digits (RFC 9110 section 5.6.2). */
const SEPARATORS = [..."-_.!#$%&'*+^`|~"]

const FORGED = SEPARATORS.flatMap((a) =>
  SEPARATORS.flatMap((b) => [
    `X${a}ServiceID${b}DID`,
    `x${a}serviceid${b}verified`,
    `X${a}SERVICEID${b}Extra`,
  ]),
)
const HARMLESS = [
  'ServiceID',
  'ServiceID-Certificate',
  'X-ServiceIDs',
  'X-Service-ID-DID',
  'AX-ServiceID-DID',
  'Accept',
]

/** A pattern of an example, which is written in Go's syntax. */
function patternIn(file: string, line: RegExp): string {
  const pattern = line.exec(readFileSync(join(ROOT, 'deploy', file), 'utf8'))?.[1] ?? ''
  assert.ok(pattern.startsWith('(?i)'), `${file}: ${pattern}`)
  return pattern.slice('(?i)'.length)
}

const PATTERNS: Readonly<Record<string, () => RegExp>> = {
  Traefik: () =>
    new RegExp(patternIn('traefik/countersign.yml', /authResponseHeadersRegex: (.*)/), 'i'),
  // Envoy compares the whole name.
  Envoy: () =>
    new RegExp(`^(?:${patternIn('envoy/envoy.yaml', /safe_regex: \{ regex: "(.*)" \}/)})$`, 'i'),
}

for (const [proxy, pattern] of Object.entries(PATTERNS)) {
  test(`${proxy}: the pattern matches every spelling of an identity header and nothing else`, () => {
    const regExp = pattern()
    for (const name of FORGED) assert.match(name, regExp)
    for (const name of HARMLESS) assert.doesNotMatch(name, regExp)
  })
}

test('the examples do not listen on the port of the service', () => {
  const files = [
    'nginx/countersign.conf',
    'caddy/Caddyfile',
    'haproxy/haproxy.cfg',
    'envoy/envoy.yaml',
    'traefik/countersign.yml',
    'gateway.json',
  ]
  for (const file of files) {
    assert.doesNotMatch(readFileSync(join(ROOT, 'deploy', file), 'utf8'), /\b8080\b/, file)
  }
})
