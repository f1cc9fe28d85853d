import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AGENT_STATUSES, ASSURANCES, namingFor, type Tail } from '@countersign/protocol'
import fc from 'fast-check'
import { type AgentView, initialProfile } from '../../src/agents/agent-record.ts'
import { lookupOf, lookupTag, lookupText } from '../../src/agents/lookup.ts'
import { siteOf } from '../../src/base/site.ts'

const site = siteOf(namingFor('acme'), new URL('https://agents.example'))
const NOW = 1_800_000_000_000

/** Few values each, so that two views often differ in one value only. */
const view = (word: fc.Arbitrary<string>): fc.Arbitrary<AgentView> =>
  fc
    .record({
      letter: fc.constantFrom('a', 'b'),
      status: fc.constantFrom(...AGENT_STATUSES),
      provider: fc.option(word),
      expiresAt: fc.constantFrom(null, NOW - 1, NOW + 1),
    })
    .map(({ letter, status, provider, expiresAt }) => {
      const claimedAt = NOW - letter.charCodeAt(0) * 1_000_001
      const strongest =
        provider === null
          ? null
          : { provider, assurance: ASSURANCES[0], verifiedAt: claimedAt, expiresAt }
      return {
        agent: {
          tail: letter.repeat(24) as Tail,
          publicKey: new Uint8Array(32),
          ownerId: 1,
          seq: 1,
          version: 1,
          status,
          claimedAt,
          profile: initialProfile(claimedAt),
        },
        owner: {
          id: 1,
          username: 'ada',
          displayName: 'Ada',
          deleted: false,
          verifications: strongest === null ? [] : [strongest],
          strongest,
          isOrganisation: false,
          nameChangedAt: null,
          publishedNames: new Map(),
        },
      }
    })

const word = fc.constantFrom('ada', 'in-person', 'x', '3-d')

test('the serialized lookup equals JSON.stringify of the response and has the same tag', () => {
  fc.assert(
    fc.property(view(word), (each) => {
      assert.deepEqual(lookupText(site, each, NOW), {
        json: JSON.stringify(lookupOf(site, each, NOW)),
        tag: tagOf(each),
      })
    }),
  )
})

test('two responses have the same tag exactly if they are equal, and every tag is a valid header value', () => {
  const any = view(fc.oneof(word, fc.constantFrom('.', 'a.b', '"', 'ö', '%2E', 'x\n', 'active')))
  fc.assert(
    fc.property(any, any, (a, b) => {
      const [one, other] = [a, b].map((each) => JSON.stringify(lookupOf(site, each, NOW)))
      assert.equal(tagOf(a) === tagOf(b), one === other)
      assert.match(tagOf(a), /^[\x21\x23-\x7e]+$/)
    }),
    { numRuns: 20_000 },
  )
})

test('a provider id that needs escaping is not serialized by lookupText', () => {
  for (const name of ['ö', '"', 'a.b', 'x\n', 'A B']) {
    const [each] = fc.sample(view(fc.constant(name)).filter(isShown), 1) as [AgentView]
    assert.equal(lookupText(site, each, NOW), null)
  }
})

function tagOf(each: AgentView): string {
  return lookupTag(lookupOf(site, each, NOW))
}

function isShown(each: AgentView): boolean {
  return lookupOf(site, each, NOW).owner.identityMethod !== null
}
