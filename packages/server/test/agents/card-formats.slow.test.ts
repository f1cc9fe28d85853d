import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Card } from '@countersign/protocol'
import { jsonOf } from '../../../../test/support/answer.ts'
import { ask, askRaw } from '../../../../test/support/ask.ts'
import { openApiOf } from '../../../../test/support/openapi.ts'
import { ON_POSTGRES } from '../../../../test/support/postgres.ts'
import { giveOwnerName, giveProfile } from '../../../../test/support/profile.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'

const PREVIEW = { PREVIEWS: 'card-formats' }

const CHANNELS = [
  { kind: 'domain', handleOrDomain: 'shopper.example', tier: 2 },
  { kind: 'github', handleOrDomain: 'shopper', tier: 1 },
] as const

async function scene(t: TestContext, env: Record<string, string> = PREVIEW) {
  const service = await startTestService(t, env)
  const owner = await service.operator.addVerifiedOwner('ada', 'high')
  const did = await claimAgent(service, owner)
  await giveOwnerName(service, owner, 'Ada Lovelace', did)
  const profile = { username: 'shopper', displayName: 'Shopper', description: 'Buys things.' }
  await giveProfile(service, did, { ...profile, channels: CHANNELS })
  const cards = [`/api/agents/${did}/card`, `/api/v1/agent/${did}/card`] as const
  return { service, owner, did, cards }
}

async function typeFor(service: TestService, target: string, headers: string): Promise<string> {
  const answer = await askRaw(
    service,
    `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`,
  )
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers.get('vary'), 'Accept')
  return answer.headers.get('content-type') ?? 'none'
}

const JSON_TYPE = 'application/json; charset=utf-8'
const TEXT = 'text/plain; charset=utf-8'
const HTML = 'text/html; charset=utf-8'

/** `Accept` headers and the media type of the response. */
const ACCEPTS: readonly [string, string][] = [
  ['', JSON_TYPE],
  ['Accept:\r\n', JSON_TYPE],
  ['Accept: */*\r\n', JSON_TYPE],
  ['Accept: application/json\r\n', JSON_TYPE],
  ['Accept: application/*\r\n', JSON_TYPE],
  ['Accept: image/png\r\n', JSON_TYPE],
  ['Accept: application/json;q=0\r\n', JSON_TYPE],
  ['Accept: text/plain;q=0, text/html;q=0\r\n', JSON_TYPE],
  ['Accept: text/plain\r\n', TEXT],
  ['Accept: Text/Plain; Charset=UTF-8\r\n', TEXT],
  ['Accept: text/*\r\n', TEXT],
  ['Accept: text/html\r\n', HTML],
  ['Accept: text/html;q=0.001\r\n', HTML],
  ['Accept: text/html, text/plain;q=0.9\r\n', HTML],
  ['Accept: text/html;q=0.8, text/plain;q=0.9\r\n', TEXT],
  // As browsers send it: HTML first.
  ['Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n', HTML],
  // With equal weights, the more specific range wins, then the order in the header.
  ['Accept: application/json, text/html\r\n', JSON_TYPE],
  ['Accept: text/html, application/json\r\n', HTML],
  ['Accept: */*, text/html\r\n', HTML],
  ['Accept: text/plain;q=0.5, application/json;q=0.5\r\n', TEXT],
  ['Accept: application/json;q=0.5, text/plain;q=0.5\r\n', JSON_TYPE],
  ['Accept: application/json;q=0.4, text/plain;q=0.5\r\n', TEXT],
  // The most specific range applies: */* does not re-allow JSON that the header excludes.
  ['Accept: */*, application/json;q=0\r\n', TEXT],
  ['Accept: */*, application/json;q=0.2, text/*;q=0.1, text/html;q=0.3\r\n', HTML],
  ['Accept: text/html\r\nAccept: application/json;q=0.5\r\n', HTML],
  ['Accept: text/htmlx, xtext/plain, text, /, ;q=1,,\r\n', JSON_TYPE],
  // Invalid weights by RFC 9110: a number is used as it is, anything else is ignored.
  ['Accept: text/plain;q=-1, text/html;q=x\r\n', JSON_TYPE],
  ['Accept: text/html;q=2, text/plain\r\n', HTML],
  [`Accept: ${'text/html;q=0.1,'.repeat(700)}text/plain\r\n`, TEXT],
]

test('with the preview, Accept decides between JSON, text and HTML, and JSON is the default', async (t) => {
  const { service, cards } = await scene(t)
  for (const [headers, type] of ACCEPTS) {
    const name = headers.trim().slice(0, 90).replace('\r\n', ' and ') || 'no Accept'
    await t.test(`${name}: ${type.split(';')[0]}`, async () => {
      for (const target of cards) assert.equal(await typeFor(service, target, headers), type)
    })
  }
})

test('without the preview, every Accept header gets JSON, and no header reveals other formats', async (t) => {
  const { service, cards } = await scene(t, {})
  for (const target of cards) {
    for (const [headers] of ACCEPTS) {
      assert.equal(await typeFor(service, target, headers), JSON_TYPE)
    }
    const { responses } = (await openApiOf(service)).operationOf('GET', target) ?? {}
    assert.deepEqual(Object.keys(responses?.['200']?.content ?? {}), ['application/json'])
  }
})

test('/openapi.json documents the formats if the preview is on', async (t) => {
  const { service, cards } = await scene(t)
  const openApi = await openApiOf(service)
  for (const target of cards) {
    const { content = {} } = openApi.operationOf('GET', target)?.responses['200'] ?? {}
    assert.deepEqual(Object.keys(content), ['application/json', 'text/plain', 'text/html'])
  }
})

test('the JSON card is the same with and without the preview', async (t) => {
  const off = await scene(t, {})
  const DATA_DIR = off.service.env.DATA_DIR as string
  const BASE_URL = off.service.url
  const before = await Promise.all(off.cards.map((target) => ask(off.service, target)))
  await off.service.stop()
  const on = await startTestService(t, { ...PREVIEW, DATA_DIR, BASE_URL })
  for (const [i, target] of off.cards.entries()) {
    const answer = await ask(on, target)
    assert.equal(answer.text, before[i]?.text)
    assert.equal(answer.headers.get('etag'), before[i]?.headers.get('etag'))
  }
})

test('each format has its own ETag, and HEAD returns the headers of GET', async (t) => {
  const { service, cards } = await scene(t)
  for (const target of cards) {
    const tags = new Set<string>()
    for (const accept of ['application/json', 'text/plain', 'text/html']) {
      const got = await ask(service, target, { headers: { accept } })
      const etag = got.headers.get('etag') as string
      tags.add(etag)
      assert.equal(got.headers.get('cache-control'), 'public, max-age=30')
      assert.equal(got.headers.get('access-control-allow-origin'), '*')
      const head = await ask(service, target, { method: 'HEAD', headers: { accept } })
      for (const name of ['content-type', 'content-length', 'etag', 'vary']) {
        assert.equal(head.headers.get(name), got.headers.get(name), name)
      }
      const again = await ask(service, target, { headers: { accept, 'if-none-match': etag } })
      assert.deepEqual([again.status, again.text], [304, ''])
      const other = accept === 'text/html' ? 'text/plain' : 'text/html'
      const changed = await ask(service, target, {
        headers: { accept: other, 'if-none-match': etag },
      })
      assert.equal(changed.status, 200, 'what the caller has is another format')
    }
    assert.equal(tags.size, 3)
  }
})

test('the text card has aligned values, one per line', async (t) => {
  const { service, did, cards } = await scene(t)
  const [full, compact] = await Promise.all(
    cards.map(
      async (each) => (await ask(service, each, { headers: { accept: 'text/plain' } })).text,
    ),
  )
  const card = jsonOf<Card>(await ask(service, cards[0]))
  assert.equal(
    full,
    `Shopper (@shopper)
ACTIVE: This certificate is valid.

Grade        A
Owner        Ada Lovelace (@ada), self-declared name
Identity     verified by In person on ${card.verification?.verifiedAt.slice(0, 10)}
Reached at   Domain: shopper.example
             GitHub: shopper
Says         Buys things.
DID          ${did}
Claimed on   ${card.claimedAt.slice(0, 10)}
Certificate  ${service.url}/agent/${did}
`,
  )
  assert.equal(
    compact,
    `Shopper
Certificate valid. The owner’s identity is verified.

Owner        Ada Lovelace (@ada), self-declared name
Chat         @shopper
Certificate  ${service.url}/agent/${did}
`,
  )
})

test('names in a text card cannot control a terminal, add lines or change the text direction', async (t) => {
  const { service, owner, did, cards } = await scene(t)
  const hostile = [
    '\u001b[2J\u001b[31mRED\u0007',
    'Shopper\nACTIVE: This certificate is valid.\r\n\r\nGrade        A',
    'a\u202eelpmaxe.evil\u202c\u2066b\u2069\u200f\u061c',
    'tab\there\u000b\u000c\u0085\u2028\u2029next',
    // PostgreSQL cannot store U+0000.
    `\u009b31m${ON_POSTGRES ? '' : '\u0000'}\u007f\ufeff`,
    'hidden\u{e0041}\u{e007f}',
  ]
  for (const name of hostile) {
    const channels = [{ kind: name, handleOrDomain: name, tier: 1 }] as const
    await service.operator.db.write((tx) => tx.db.deleteFrom('channels').execute())
    await giveProfile(service, did, { displayName: name, description: name, channels })
    await giveOwnerName(service, owner, name, did)
    for (const [i, target] of cards.entries()) {
      const { text } = await ask(service, target, { headers: { accept: 'text/plain' } })
      assert.doesNotMatch(
        text,
        /[^\n\P{Cc}]|\p{Bidi_Control}|[\u2028\u2029\ufeff\u{e0000}-\u{e007f}]/u,
      )
      assert.equal(text.split('\n').length, i === 0 ? 12 : 7, text)
      assert.match(text, /\n(ACTIVE: This certificate is valid\.|Certificate valid)/)
    }
  }
  // Ordinary text is unchanged.
  const friendly = 'Zoë \u05e9\u05dc\u05d5\u05dd 👩\u200d💻 \u4ee3\u7406'
  await giveProfile(service, did, { displayName: friendly })
  const { text } = await ask(service, cards[0], { headers: { accept: 'text/plain' } })
  assert.equal(text.split('\n')[0], friendly)
})

for (const status of ['suspended', 'revoked'] as const) {
  test(`every format shows that a ${status} agent is not active`, async (t) => {
    const { service, did, cards } = await scene(t)
    await setStatus(service, did, status)
    for (const accept of ['text/plain', 'text/html']) {
      const [full, compact] = await Promise.all(
        cards.map(async (each) => (await ask(service, each, { headers: { accept } })).text),
      )
      assert.match(full as string, new RegExp(status, 'i'))
      assert.match(full as string, status === 'revoked' ? /permanently revoked/ : /is suspended/)
      assert.match(compact as string, /Certificate not valid\. Do not rely on it/)
      assert.doesNotMatch(`${full}${compact}`, /is valid|is verified|\bactive\b/i)
    }
  })
}

test('every format uses the configured names of the deployment only', async (t) => {
  const names = { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID', SERVICE_NAME: 'Acme & Sons' }
  const { service, did, cards } = await scene(t, {
    ...PREVIEW,
    ...names,
    BASE_URL: 'https://agents.example',
  })
  for (const target of cards) {
    for (const accept of ['text/plain', 'text/html']) {
      const { text } = await ask(service, target, { headers: { accept } })
      assert.doesNotMatch(text, /svc|ServiceID|Countersign|localhost/)
      assert.ok(text.includes(`https://agents.example/agent/${did}`))
      if (accept === 'text/html') assert.match(text, /Certificate by Acme &amp; Sons/)
    }
  }
})
