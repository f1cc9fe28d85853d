import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../test/support/answer.ts'
import {
  addChannel,
  newAgentOf,
  newProver,
  postChannel,
  startChannelFixture,
} from './support/channel-fixture.ts'

const LABEL = 'a'.repeat(63)
/** 253 octets. */
const LONGEST = `${[LABEL, LABEL, LABEL, 'a'.repeat(57)].join('.')}.com`

/** Accepted inputs, and the normalized domain. */
const TAKEN: readonly [string, string][] = [
  ['example.com', 'example.com'],
  [' Agents.EXAMPLE.com ', 'agents.example.com'],
  ['agents.example.com.', 'agents.example.com'],
  ['https://example.com', 'example.com'],
  ['https://Example.com/', 'example.com'],
  ['bücher.com', 'xn--bcher-kva.com'],
  ['BÜCHER.com', 'xn--bcher-kva.com'],
  ['XN--bcher-KVA.com', 'xn--bcher-kva.com'],
  ['bu\u0308cher.com', 'xn--bcher-kva.com'],
  ['faß.de', 'xn--fa-hia.de'],
  ['例子。中国', 'xn--fsqu00a.xn--fiqs8s'],
  ['ｅｘａｍｐｌｅ．com', 'example.com'],
  ['r3---sn.example.com', 'r3---sn.example.com'],
  ['1.example.com', '1.example.com'],
  ['127.0.0.1.example.com', '127.0.0.1.example.com'],
  ['example.co.uk', 'example.co.uk'],
  ['www.ck', 'www.ck'],
  ['a.shop.ck', 'a.shop.ck'],
  ['city.kobe.jp', 'city.kobe.jp'],
  ['github.io', 'github.io'],
  ['ada.github.io', 'ada.github.io'],
  [LONGEST, LONGEST],
]

const ADDRESS = /IP address/
const SHAPE = /Enter a domain name such as/
const REGISTRY = /belongs to a registry/
const NOBODY = /Nobody can hold/

const REFUSED: readonly [string, RegExp][] = [
  ['127.0.0.1', ADDRESS],
  ['127.0.0.1.', ADDRESS],
  ['127.1', ADDRESS],
  ['0x7f.1', ADDRESS],
  ['0177.0.0.1', ADDRESS],
  ['2130706433', ADDRESS],
  ['https://2130706433/', ADDRESS],
  ['①②⑦.0.0.1', ADDRESS],
  ['[::1]', ADDRESS],
  ['::1', ADDRESS],
  ['[::ffff:127.0.0.1]', ADDRESS],
  ['fe80::1', ADDRESS],
  ['https://[2001:db8::1]/', ADDRESS],
  ['localhost', NOBODY],
  ['example', NOBODY],
  ['com', REGISTRY],
  ['co.uk', REGISTRY],
  ['CO.UK.', REGISTRY],
  ['ck', REGISTRY],
  ['shop.ck', REGISTRY],
  ['kobe.jp', REGISTRY],
  ['sch.uk', REGISTRY],
  ['中国', REGISTRY],
  ['foo.internal', NOBODY],
  ['x.test', NOBODY],
  ['x.example', NOBODY],
  ['x.invalid', NOBODY],
  ['x.localhost', NOBODY],
  ['printer.local', NOBODY],
  ['abc.onion', NOBODY],
  ['router.home.arpa', NOBODY],
  ['1.0.0.127.in-addr.arpa', NOBODY],
  ['example.zz', NOBODY],
  ['example.com:8443', SHAPE],
  ['https://example.com:8443/', SHAPE],
  ['https://example.com/agents', SHAPE],
  ['https://example.com/?a', SHAPE],
  ['https://example.com?a', SHAPE],
  ['https://ada@example.com/', SHAPE],
  ['http://example.com/', SHAPE],
  ['//example.com', SHAPE],
  ['example.com/', SHAPE],
  ['ada@example.com', SHAPE],
  ['_dmarc.example.com', SHAPE],
  ['ex%61mple.com', SHAPE],
  ['*.example.com', SHAPE],
  ['exam ple.com', SHAPE],
  ['a.com b.com', SHAPE],
  ['-a.example.com', SHAPE],
  ['a-.example.com', SHAPE],
  ['a..example.com', SHAPE],
  ['.example.com', SHAPE],
  ['example.com..', SHAPE],
  ['.', SHAPE],
  [' ', SHAPE],
  ['xn--a.com', SHAPE],
  ['xn--.com', SHAPE],
  ['xn--bcher-kvb.com', SHAPE],
  ['a\u202eb.com', SHAPE],
  ['a\u200db.com', SHAPE],
  [`a${LABEL}.com`, SHAPE],
  [`a${LONGEST}`, SHAPE],
  [`${'ü.'.repeat(60)}com`, SHAPE],
]

test('a domain is normalized, however it is entered', async (t) => {
  const fixture = await startChannelFixture(t)
  const { owner } = await newProver(fixture)
  for (const some of [TAKEN.slice(0, 10), TAKEN.slice(10, 20), TAKEN.slice(20)]) {
    // An agent has at most twenty channels.
    const prover = await newAgentOf(fixture, owner.ownerId, `for ${some[0]}`)
    for (const [entered, kept] of some) {
      for (const kind of ['domain', 'a2a']) {
        const { handleOrDomain, link } = await addChannel(prover, kind, entered)
        assert.deepEqual([handleOrDomain, link], [kept, `https://${kept}/`], entered)
      }
    }
  }
})

test('two spellings of a domain are one channel', async (t) => {
  const prover = await newProver(await startChannelFixture(t))
  const first = await addChannel(prover, 'domain', 'bücher.com')
  const second = await addChannel(prover, 'domain', 'https://XN--BCHER-KVA.com/')
  assert.equal(first.id, second.id)
})

test('a name that nobody can register is refused with the reason', async (t) => {
  const prover = await newProver(await startChannelFixture(t))
  for (const kind of ['domain', 'a2a']) {
    for (const [entered, reason] of REFUSED) {
      const answer = await postChannel(prover, kind, entered)
      assert.equal(answer.status, 400, `${kind} ${entered}: ${answer.text}`)
      assertRefused(answer, 400, 'VALIDATION_ERROR', reason)
    }
  }
})
