import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type Did, namingFor } from '@countersign/protocol'
import type { ChannelKind, Proof } from '../../src/channels/kinds/kind.ts'
import { type ExpectedProofs, memoizePerspective, observe } from '../../src/channels/observe.ts'
import { type Perspective, ProofAbsent, Unreachable } from '../../src/core/network/perspective.ts'

const NEVER = new AbortController().signal

/** The proof that carries a token. */
function proofOf(token: string): Proof {
  return {
    naming: namingFor('svc', 'ServiceID'),
    did: 'svc:agent:x' as Did,
    publicKey: new Uint8Array(32),
    handle: 'place',
    baseUrl: 'https://countersign.example',
    token,
    expiresAt: 1,
  }
}

const fresh = proofOf('fresh')
const known = { proof: proofOf('known'), method: 'a' }
const FRESH: ExpectedProofs = { fresh, known: null, now: 0 }
const BOTH: ExpectedProofs = { fresh, known, now: 0 }

/** A kind with two methods: at each place a token may stand, one may be unreachable, or made by mistake. */
function kindOf(agreement: 'most' | 'first'): ChannelKind {
  const never = () => {
    throw new Error('nobody asks for it')
  }
  return {
    id: 'test',
    label: 'Test',
    tier: 2,
    chat: false,
    proves: 'Nothing.',
    field: { label: '', placeholder: '', hint: '' },
    freshForMs: 1000,
    parse: never,
    link: never,
    methods: never,
    check: {
      agreement,
      async observe(from, { proof, provenBy }) {
        for (const method of ['a', 'b']) {
          if (provenBy !== null && provenBy !== method) continue
          const tokens = await from.txt(method)
          if (tokens.includes(proof.token)) return { method, detail: `${proof.token} by ${method}` }
        }
        throw new ProofAbsent(`no ${proof.token}`)
      },
    },
  }
}

/** What stands at the places of both methods, as one perspective sees it; null: it cannot see. */
type Sight = { readonly a?: string; readonly b?: string } | null

function seenAs(sights: readonly Sight[]): Perspective[] {
  return sights.map((sight, i) => ({
    name: `p${i}`,
    async txt(method) {
      if (sight === null) throw new Unreachable('no answer')
      return (sight[method as 'a' | 'b'] ?? '').split(' ')
    },
    get: () => Promise.reject(new Error('not asked for')),
  }))
}

async function verdict(agreement: 'most' | 'first', sights: readonly Sight[], expected = FRESH) {
  const seen = await observe(kindOf(agreement), seenAs(sights), expected, NEVER)
  return [seen.outcome, seen.token, seen.method]
}

suite('where most have to agree', () => {
  const A = { a: 'fresh' }
  const B = { b: 'fresh' }
  const NONE = {}
  const PROVEN = (method: string) => ['proven', 'fresh', method]
  const ABSENT = ['absent', null, null]
  const UNKNOWN_RESULT = ['unreachable', null, null]

  test('more than half see the proof, or that there is none; else nobody knows', async () => {
    for (const [sights, expected] of [
      [[A], PROVEN('a')],
      [[NONE], ABSENT],
      [[null], UNKNOWN_RESULT],
      [[A, A], PROVEN('a')],
      [[A, NONE], UNKNOWN_RESULT],
      [[NONE, null], UNKNOWN_RESULT],
      [[A, A, NONE], PROVEN('a')],
      [[A, null, A], PROVEN('a')],
      [[A, NONE, NONE], ABSENT],
      [[A, NONE, null], UNKNOWN_RESULT],
      [[A, A, NONE, NONE], UNKNOWN_RESULT],
      [[], UNKNOWN_RESULT],
    ] as const) {
      assert.deepEqual(await verdict('most', sights), expected, JSON.stringify(sights))
    }
  })

  test('they have to see it by one method: half of a proof here and half there is none', async () => {
    assert.deepEqual(await verdict('most', [A, B, null]), UNKNOWN_RESULT)
    assert.deepEqual(await verdict('most', [A, B, NONE]), UNKNOWN_RESULT)
    assert.deepEqual(await verdict('most', [A, B, B]), PROVEN('b'))
  })

  test('a token that is only known keeps the channel, and what was seen of both is told', async () => {
    const seen = await observe(
      kindOf('most'),
      seenAs([{ a: 'known' }, { a: 'known fresh' }, { a: 'known', b: 'known' }]),
      BOTH,
      NEVER,
    )
    assert.deepEqual([seen.outcome, seen.token, seen.method], ['proven', 'known', 'a'])
    assert.deepEqual(
      seen.perspectives.map(({ detail }) => detail),
      ['no fresh', 'fresh by a', 'no fresh'].map(
        (first) => `The new token: ${first} The token before it: known by a`,
      ),
    )
    assert.deepEqual(await verdict('most', [{ a: 'known fresh' }], BOTH), ['proven', 'fresh', 'a'])
    assert.deepEqual(await verdict('most', [{ b: 'known' }], BOTH), ABSENT, 'by its own method')
    assert.deepEqual(await verdict('most', [null, null], BOTH), UNKNOWN_RESULT)
  })
})

suite('where the first that knows decides', () => {
  test('the others are asked only while nobody knows', async () => {
    const seen = await observe(kindOf('first'), seenAs([null, { a: 'fresh' }, null]), FRESH, NEVER)
    assert.deepEqual([seen.outcome, seen.perspectives.length], ['proven', 2])
    assert.deepEqual(await verdict('first', [{}, { a: 'fresh' }]), ['absent', null, null])
    assert.deepEqual(await verdict('first', [null, null]), ['unreachable', null, null])
  })

  test('what was seen of both tokens is told', async () => {
    const { perspectives } = await observe(
      kindOf('first'),
      seenAs([null, { a: 'known' }]),
      BOTH,
      NEVER,
    )
    assert.deepEqual(
      perspectives.map(({ name, outcome, detail }) => [name, outcome, detail]),
      [
        ['p0', 'unreachable', 'The new token: no answer The token before it: no answer'],
        ['p1', 'proven', 'The new token: no fresh The token before it: known by a'],
      ],
    )
  })
})

test('a mistake of ours is no outcome of a check', async () => {
  const [view] = seenAs([{}])
  const broken = { ...(view as Perspective), txt: () => Promise.reject(new TypeError('ours')) }
  await assert.rejects(observe(kindOf('most'), [broken], FRESH, NEVER), TypeError)
})

suite('a perspective for one check', () => {
  test('asks each question once, and passes failures on like answers', async () => {
    const asked: string[] = []
    const page = { status: 200, mediaType: 'text/plain', text: 'x' }
    const view = memoizePerspective(
      {
        name: 'p',
        async txt(name) {
          asked.push(name)
          if (name === 'gone') throw new ProofAbsent('gone')
          return [name]
        },
        async get(url, accept) {
          asked.push(`${url} ${accept}`)
          return page
        },
      },
      NEVER,
    )
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(await Promise.all([view.txt('a'), view.txt('a')]), [['a'], ['a']])
      await assert.rejects(view.txt('gone'), ProofAbsent)
      assert.equal(await view.get(new URL('https://a.example/x'), 'text/plain'), page)
      await view.get(new URL('https://a.example/x'), 'application/json')
    }
    assert.deepEqual(asked, [
      'a',
      'gone',
      'https://a.example/x text/plain',
      'https://a.example/x application/json',
    ])
  })

  test('knows nothing once the check is over: neither what it waits for nor what comes later', async () => {
    const over = new AbortController()
    let asked = 0
    const silent: Perspective = {
      name: 'p',
      txt: () => {
        asked++
        return new Promise(() => undefined)
      },
      get: () => new Promise(() => undefined),
    }
    const checked = observe(kindOf('first'), [silent, silent, silent], BOTH, over.signal)
    await Promise.resolve()
    over.abort()
    const { outcome, token } = await checked
    assert.deepEqual([outcome, token, asked], ['unreachable', null, 1])
    await assert.rejects(memoizePerspective(silent, over.signal).txt('a'), Unreachable)
  })
})
