import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentObject, Card, CompactCard } from '@countersign/protocol'
import sharp from 'sharp'
import { jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { publishName } from '../../../../test/support/publish-name.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { signInNewcomer, verifyIdentity } from '../../../../test/support/verify-identity.ts'
import { metaOf, textOf } from './support/html.ts'

/** Every place that shows a verification, by name, as text. */
async function placesOf(service: TestService, did: string): Promise<Record<string, string>> {
  const read = async (path: string, accept = '*/*') =>
    (await ask(service, path, { headers: { accept } })).text
  const certificate = await read(`/agent/${did}`)
  const card = `/api/agents/${did}/card`
  const compact = `/api/v1/agent/${did}/card`
  return {
    certificate: textOf(certificate),
    title: metaOf(certificate, 'og:title'),
    description: metaOf(certificate, 'og:description'),
    'the check page': textOf(await read(`/check?agent=${did}`)),
    'the flat badge': await read(`/agent/${did}/badge.svg`),
    'the seal': await read(`/agent/${did}/badge.svg?style=seal`),
    'the card as text': await read(card, 'text/plain'),
    'the card as HTML': await read(card, 'text/html'),
    'the compact card as text': await read(compact, 'text/plain'),
    'the compact card as HTML': await read(compact, 'text/html'),
  }
}

async function cardsOf(service: TestService, did: string) {
  return [
    jsonOf<Card>(await ask(service, `/api/agents/${did}/card`)),
    jsonOf<AgentObject>(await ask(service, `/api/agents/${did}`)),
    jsonOf<CompactCard>(await ask(service, `/api/v1/agent/${did}/card`)),
  ]
}

test('a verification for development is marked in every place that shows it', async (t) => {
  const service = await startTestService(t, { PREVIEWS: 'card-formats' })
  const owner = await signInNewcomer(service)
  assert.equal((await verifyIdentity(service, owner, 'dev-high', 'Ada')).verified, 'dev-high')
  const did = await claimAgent(service, owner.ownerId)

  for (const [place, text] of Object.entries(await placesOf(service, did))) {
    assert.match(text, /development only/i, place)
    assert.doesNotMatch(text, /official proof of identity/, place)
  }
  for (const each of await cardsOf(service, did)) assert.equal(each.developmentOnly, true)
})

test('an assurance level is not repeated, and two years end on the same day of the calendar', async (t) => {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  await verifyIdentity(service, owner, 'dev-high', 'Ada')
  const did = await claimAgent(service, owner.ownerId)
  const text = textOf((await ask(service, `/agent/${did}`)).text)
  const [, evidence = ''] = /Owner verification (.*?), verified on/.exec(text) ?? []
  assert.equal(evidence.match(/assurance/g)?.length, 1, evidence)
  const [, day, month, year] =
    /Verified on (\d+) (\w+) (\d+), valid until \1 \2 (?=\d)/.exec(text) ?? []
  assert.ok(text.includes(`valid until ${day} ${month} ${Number(year) + 2}`), text)
})

test('a certificate for development says first that it is a test, and has neither a grade nor a verified name', async (t) => {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  await verifyIdentity(service, owner, 'dev-high', 'Ada')
  const did = await claimAgent(service, owner.ownerId)
  await publishName(service, owner.ownerId, 'Ada Lovelace', did)
  const { text: html } = await ask(service, `/agent/${did}`)
  assert.match(
    textOf(html.slice(html.indexOf('<main'))),
    /^ ?Development only This is a test\. Nobody checked who owns this agent\. Its owner calls themselves “ A newcomer ”\. Nobody has verified this name or their identity\./,
  )
  assert.match(html, /<h1[^>]*>Development only<\/h1>/)
  assert.match(html, /aria-label="Development only"[^>]*>.*?>DEV<\/text>/s)
  assert.doesNotMatch(html, /This certificate is valid|name verified by|>Verified name</)
  assert.match(metaOf(html, 'title'), /^DEVELOPMENT ONLY: agent named /)
  for (const style of ['flat', 'seal']) {
    const badge = (await ask(service, `/agent/${did}/badge.svg?style=${style}`)).text
    assert.match(badge, style === 'seal' ? />DEV</ : />development only</)
  }
})

test('a real verification carries no such mark', async (t) => {
  const service = await startTestService(t, { PREVIEWS: 'card-formats' })
  const did = await claimAgent(service, await service.operator.addVerifiedOwner('ada', 'high'))
  for (const [place, text] of Object.entries(await placesOf(service, did))) {
    assert.doesNotMatch(text, /development only/i, place)
  }
  for (const each of await cardsOf(service, did)) assert.ok(!('developmentOnly' in each))
})

test('the preview image of a verification for development has the amber mark, that of a real one does not', async (t) => {
  const service = await startTestService(t)
  const owner = await signInNewcomer(service)
  await verifyIdentity(service, owner, 'dev-high', 'Ada')
  const marked = await claimAgent(service, owner.ownerId)
  const plain = await claimAgent(service, await service.operator.addVerifiedOwner('ada', 'high'))
  assert.ok((await amberPixels(service, marked)) > 10_000, 'frame, seal and words')
  assert.equal(await amberPixels(service, plain), 0)
})

/** The number of pixels of the preview image in the colour of the mark, #8a5200. */
async function amberPixels(service: TestService, did: string): Promise<number> {
  const response = await fetch(`${service.url}/agent/${did}/preview.png`)
  assert.equal(response.status, 200)
  const png = Buffer.from(await response.arrayBuffer())
  const { data } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  let amber = 0
  for (let at = 0; at < data.length; at += 3) {
    if (data[at] === 0x8a && data[at + 1] === 0x52 && data[at + 2] === 0) amber += 1
  }
  return amber
}
