import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstMismatch, type Match, matchProblem, valueAt } from '../../src/enrolment/match.ts'
import { missingPin, unpinnedClaim } from '../../src/enrolment/pins.ts'

const CLAIMS = {
  sub: 'repo:acme/site:ref:refs/heads/main',
  repository_id: '74',
  runner: { group: 'large', 'a/b': 'slash', '~': 'tilde' },
  audiences: ['a', 'b'],
  protected: true,
  count: 1,
}

test('a pointer leads through objects only, with the escapes of RFC 6901', () => {
  assert.equal(valueAt(CLAIMS, '/runner/group'), 'large')
  assert.equal(valueAt(CLAIMS, '/runner/a~1b'), 'slash')
  assert.equal(valueAt(CLAIMS, '/runner/~0'), 'tilde')
  assert.equal(valueAt(CLAIMS, '/audiences/0'), undefined)
  assert.equal(valueAt(CLAIMS, '/sub/length'), undefined)
  assert.equal(valueAt(CLAIMS, '/toString'), undefined)
  assert.equal(valueAt(CLAIMS, '/__proto__/toString'), undefined)
})

test('values match by type and code units, and a missing claim, array or object never does', () => {
  const accepted: Match[] = [
    { '/repository_id': '74' },
    { '/repository_id': ['73', '74'] },
    { '/protected': true },
    { '/runner/group': 'large', '/sub': CLAIMS.sub },
  ]
  for (const match of accepted) assert.equal(firstMismatch(match, CLAIMS), null)
  const refused: [Match, string][] = [
    [{ '/repository_id': '7' }, '/repository_id'],
    [{ '/repository_id': '740' }, '/repository_id'],
    [{ '/sub': 'repo:acme/*' }, '/sub'],
    [{ '/protected': 'true' }, '/protected'],
    [{ '/count': '1' }, '/count'],
    [{ '/audiences': 'a' }, '/audiences'],
    [{ '/audiences': ['a', 'b'] }, '/audiences'],
    [{ '/runner': 'large' }, '/runner'],
    [{ '/missing': 'x' }, '/missing'],
    [{ '/repository_id': '74', '/protected': false }, '/protected'],
    [{ '/repository_id': ['74'], '/protected': ['true'] }, '/protected'],
  ]
  for (const [match, pointer] of refused) {
    assert.equal(firstMismatch(match, CLAIMS)?.pointer, pointer, JSON.stringify(match))
  }
})

test('what every token is checked for cannot be matched, and pointers and values have bounds', () => {
  const sound: Match = { '/sub': 'a', '/a~1b/c': ['x', 'y'], '/protected': true }
  assert.equal(matchProblem(sound), null)
  const wrong: Match[] = [
    {},
    { '/aud': 'a' },
    { '/iss': 'a' },
    { '/exp': 'a' },
    { sub: 'a' },
    { '': 'a' },
    { '/a~2': 'a' },
    { '/sub': [] },
    { '/sub': 'x'.repeat(513) },
    { [`/${'x'.repeat(256)}`]: 'a' },
    Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`/c${i}`, 'x'])),
  ]
  for (const match of wrong) assert.notEqual(matchProblem(match), null, JSON.stringify(match))
})

const GITHUB = 'https://token.actions.githubusercontent.com'

test('rules for issuers that sign for strangers must pin what strangers cannot have', () => {
  const pinned: [string | null, string | null, Match][] = [
    [GITHUB, null, { '/repository_id': '74', '/ref': 'refs/heads/main' }],
    [GITHUB, null, { '/repository_owner_id': '1', '/environment': 'production' }],
    ['https://gitlab.com', null, { '/project_id': '20', '/ref_protected': 'true' }],
    ['https://accounts.google.com', null, { '/sub': '1177' }],
    ['https://issuer.example', null, { '/sub': 'a' }],
    [null, 'example.org', { '/sub': ['spiffe://example.org/a', 'spiffe://example.org/b'] }],
  ]
  for (const [issuer, trustDomain, match] of pinned) {
    assert.equal(missingPin({ issuer, trustDomain, match }), null, JSON.stringify(match))
  }
  const unpinned: [string | null, string | null, Match][] = [
    [null, null, { '/sub': 'a' }],
    [GITHUB, null, { '/sub': 'repo:acme/site:ref:refs/heads/main' }],
    [GITHUB, null, { '/repository': 'acme/site', '/ref': 'refs/heads/main' }],
    [GITHUB, null, { '/repository_id': '74' }],
    [`${GITHUB}/acme`, null, { '/repository_id': '74' }],
    [`${GITHUB}/`, null, { '/repository_id': '74' }],
    ['https://gitlab.com', null, { '/project_path': 'acme/site', '/ref_protected': 'true' }],
    ['https://gitlab.com', null, { '/project_id': '20', '/ref_protected': 'false' }],
    ['https://gitlab.com', null, { '/project_id': '20', '/ref_protected': ['true', 'false'] }],
    ['https://accounts.google.com', null, { '/email': 'a@example.com' }],
    [null, 'example.org', { '/sub': 'spiffe://example.org.evil/a' }],
    [null, 'example.org', { '/sub': ['spiffe://example.org/a', 'spiffe://other/a'] }],
    [null, 'example.org', { '/sub': 'spiffe://example.org/' }],
    [null, 'example.org', { '/other': 'a' }],
  ]
  for (const [issuer, trustDomain, match] of unpinned) {
    assert.notEqual(missingPin({ issuer, trustDomain, match }), null, JSON.stringify(match))
  }
})

test('tokens of a Secret and of events that strangers cause are refused unless the rule says otherwise', () => {
  const kubernetes = (pod: object, match: Match) =>
    unpinnedClaim(
      { issuer: 'https://cluster.example', trustDomain: null, match },
      { sub: 'a', 'kubernetes.io': { namespace: 'crawl', ...pod } },
    )?.pointer
  assert.equal(kubernetes({ pod: { uid: 'u' } }, { '/sub': 'a' }), undefined)
  assert.equal(kubernetes({}, { '/sub': 'a' }), '/kubernetes.io/pod/uid')
  assert.equal(kubernetes({ pod: { uid: 1 } }, { '/sub': 'a' }), '/kubernetes.io/pod/uid')
  assert.equal(kubernetes({ pod: { uid: 'u' } }, { '/kubernetes.io~1x': 'a' }), '/sub')
  const github = (event: string, match: Match) =>
    unpinnedClaim({ issuer: GITHUB, trustDomain: null, match }, { event_name: event })?.pointer
  const pin = { '/repository_id': '74', '/ref': 'refs/heads/main' }
  assert.equal(github('push', pin), undefined)
  assert.equal(github('pull_request_target', pin), '/event_name')
  assert.equal(github('workflow_run', pin), '/event_name')
  assert.equal(github('workflow_run', { ...pin, '/event_name': 'workflow_run' }), undefined)
})
