import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type Did, namingFor } from '@countersign/protocol'
import type { ChannelKind, Proof } from '../../src/channels/kinds/kind.ts'
import { type ExpectedProofs, memoizePerspective, observe } from '../../src/channels/observe.ts'
import { type Perspective, ProofAbsent, Unreachable } from '../../src/http/outbound/perspective.ts'

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

/** A kind with two methods, `a` and `b`, each of which looks for the token in the TXT records of its name. */
function kindOf(agreement: 'most' | 'first'): ChannelKind {
  const never = () => {
    throw new Error('not used by observe')
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

/** The tokens that one perspective finds by each method; null: the perspective is unreachable. */
type View = { readonly a?: string; readonly b?: string } | null

function perspectivesFrom(views: readonly View[]): Perspective[] {
  return views.map((view, i) => ({
    name: `p${i}`,
    async txt(method) {
      if (view === null) throw new Unreachable('no answer')
      return (view[method as 'a' | 'b'] ?? '').split(' ')
    },
    get: () => Promise.reject(new Error('not asked for')),
  }))
}

async function observedBy(agreement: 'most' | 'first', views: readonly View[], expected = FRESH) {
  const seen = await observe(kindOf(agreement), perspectivesFrom(views), expected, NEVER)
  return [seen.outcome, seen.token, seen.method]
}

suite('agreement of most perspectives', () => {
  const A = { a: 'fresh' }
  const B = { b: 'fresh' }
  const NONE = {}
  const PROVEN = (method: string) => ['proven', 'fresh', method]
  const ABSENT = ['absent', null, null]
  const UNKNOWN_RESULT = ['unreachable', null, null]

  test('takes more than half, for a proof as for its absence; otherwise the result is unreachable', async () => {
    for (const [views, expected] of [
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
      assert.deepEqual(await observedBy('most', views), expected, JSON.stringify(views))
    }
  })

  test('takes a majority for one method: two halves by different methods are no proof', async () => {
    assert.deepEqual(await observedBy('most', [A, B, null]), UNKNOWN_RESULT)
    assert.deepEqual(await observedBy('most', [A, B, NONE]), UNKNOWN_RESULT)
    assert.deepEqual(await observedBy('most', [A, B, B]), PROVEN('b'))
  })

  test('on a known token keeps the channel verified, and the details name both tokens', async () => {
    const seen = await observe(
      kindOf('most'),
      perspectivesFrom([{ a: 'known' }, { a: 'known fresh' }, { a: 'known', b: 'known' }]),
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
    assert.deepEqual(await observedBy('most', [{ a: 'known fresh' }], BOTH), [
      'proven',
      'fresh',
      'a',
    ])
    assert.deepEqual(
      await observedBy('most', [{ b: 'known' }], BOTH),
      ABSENT,
      'the known token is checked by its own method only',
    )
    assert.deepEqual(await observedBy('most', [null, null], BOTH), UNKNOWN_RESULT)
  })
})

suite('agreement of the first reachable perspective', () => {
  test('asks the next perspective only if the one before is unreachable', async () => {
    const seen = await observe(
      kindOf('first'),
      perspectivesFrom([null, { a: 'fresh' }, null]),
      FRESH,
      NEVER,
    )
    assert.deepEqual([seen.outcome, seen.perspectives.length], ['proven', 2])
    assert.deepEqual(await observedBy('first', [{}, { a: 'fresh' }]), ['absent', null, null])
    assert.deepEqual(await observedBy('first', [null, null]), ['unreachable', null, null])
  })

  test('gives details for both tokens', async () => {
    const { perspectives } = await observe(
      kindOf('first'),
      perspectivesFrom([null, { a: 'known' }]),
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

test('a bug in a check is thrown and is no outcome', async () => {
  const [view] = perspectivesFrom([{}])
  const broken = { ...(view as Perspective), txt: () => Promise.reject(new TypeError('ours')) }
  await assert.rejects(observe(kindOf('most'), [broken], FRESH, NEVER), TypeError)
})

suite('a memoized perspective', () => {
  test('sends each query once and repeats its result or error', async () => {
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

  test('is unreachable once the check has ended, for pending queries and later ones', async () => {
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
