import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namingFor } from '@countersign/protocol'
import { readPolicy } from '../../src/policy/read-policy.ts'
import { RouteMatcher } from '../../src/policy/route-matcher.ts'

const rules = new RouteMatcher(
  readPolicy(
    {
      routes: [
        { path: '/admin/*' },
        { path: '/report', methods: ['GET'] },
        { path: '/caf%C3%A9' },
        { path: '/' },
        { path: "/it's/*" },
        { path: '/a%20[b]/*' },
      ],
    },
    namingFor(),
  ),
)
const AMBIGUOUS = null
const OTHERS = 6

/** The rules that apply to a request. */
const CASES: readonly [method: string, target: string, found: number | null][] = [
  ['GET', '/admin/users', 0],
  ['GET', '/admin/', 0],
  ['GET', '/admin', 0],
  ['GET', '/ADMIN/Users?x=/open', 0],
  ['GET', '/administrator', OTHERS],
  ['GET', '/open?next=/admin/x', OTHERS],
  ['GET', '/report', 1],
  ['GET', '/report/', 1],
  ['HEAD', '/Report', 1],
  ['POST', '/report', OTHERS],
  ['GET', '/report/x', OTHERS],
  ['GET', '/caf%c3%A9', 2],
  ['GET', '/', 3],
  ['GET', '/?x', 3],
  ['GET', '/%20', OTHERS],
  ['GET', '/x/../admin/users', AMBIGUOUS],
  ['GET', '/x/..', AMBIGUOUS],
  ['GET', '/./admin', AMBIGUOUS],
  ['GET', '//admin/users', AMBIGUOUS],
  ['GET', '/x//admin', AMBIGUOUS],
  ['GET', '/%61dmin/users', AMBIGUOUS],
  ['GET', '/%2e%2E/admin', AMBIGUOUS],
  ['GET', '/x%2fadmin', AMBIGUOUS],
  ['GET', '/x%5cadmin', AMBIGUOUS],
  ['GET', '/x\\admin', AMBIGUOUS],
  ['GET', '/admin;x=1/users', AMBIGUOUS],
  ['GET', '/admin%3bx', AMBIGUOUS],
  ['GET', '/%2561dmin', AMBIGUOUS],
  ['GET', '/%c0%ae', AMBIGUOUS],
  ['GET', '/admin%00', AMBIGUOUS],
  ['GET', 'http://elsewhere/admin', AMBIGUOUS],
  ['OPTIONS', '*', AMBIGUOUS],
  ['GET', '/CAF%C3%89', 2],
  ['GET', '/cafe%CC%81', 2],
  ['GET', "/it's/x", 4],
  ['GET', '/a%20[b]/x', 5],
  ['GET', '/a%20%5bb%5D/x', 5],
  ['GET', '/open?next=%27//#x', OTHERS],
  ...['%27', '%21', '%24', '%26', '%28', '%29', '%2A', '%2b', '%2C', '%3a', '%3D', '%40'].map(
    (each): [string, string, null] => ['GET', `/it${each}s/x`, AMBIGUOUS],
  ),
  ['GET', '/x%3Fy', AMBIGUOUS],
  ['GET', '/open#/../admin', AMBIGUOUS],
  ['GET', '/caf\u00c3\u00a9', AMBIGUOUS],
  ['GET', '/%e0%80%af', AMBIGUOUS],
  ['GET', '/%ff', AMBIGUOUS],
  ['GET', '/x%', AMBIGUOUS],
  ['GET', '/x%2', AMBIGUOUS],
  ['GET', '/x%u002f', AMBIGUOUS],
  ['post', '/open', AMBIGUOUS],
  ['GET, POST', '/open', AMBIGUOUS],
  ['M-SEARCH', '/open', OTHERS],
  ['GET', '', AMBIGUOUS],
]

for (const [method, target, found] of CASES) {
  test(`${method} ${target} matches ${found === AMBIGUOUS ? 'all rules' : `rules ${found}`}`, () => {
    assert.equal(rules.find(method, target), found)
  })
}

test('without routes the rules of the policy apply to every path', () => {
  const alone = new RouteMatcher(readPolicy({}, namingFor()))
  assert.equal(alone.all.length, 1)
  assert.equal(alone.find('GET', '/x/../%61'), 0)
})
