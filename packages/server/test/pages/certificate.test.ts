import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyThumbprint } from '@countersign/protocol'
import { ask } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { untilLogged } from '../../../../test/support/log-client.ts'
import { giveOwnerName, giveProfile } from '../../../../test/support/profile.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { until } from '../../../../test/support/until.ts'
import { cliPackage } from '../../src/base/packages.ts'
import { appendEvent } from '../../src/database/event-table.ts'
import { jsonLdOf, metaOf, textOf } from './support/html.ts'

const CHANNELS = [
  { kind: 'domain', handleOrDomain: 'shopper.example', tier: 2 },
  { kind: 'github', handleOrDomain: '@shopper', tier: 1 },
] as const

test('a certificate page is found by DID, tail and key with the same content, and by username at the DID', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  await giveProfile(service, did, { username: 'shopper' })
  await untilLogged(service, 1)
  const pages = new Set<string>()
  for (const each of [did, did.slice(-24), encodeURIComponent(key.publicKey)]) {
    const answer = await ask(service, `/agent/${each}`)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
    pages.add(answer.text)
  }
  assert.equal(pages.size, 1)
  const [html = ''] = pages
  assert.match(html, /^<!doctype html><html lang="en">/)
  assert.ok(html.includes(`<link rel="canonical" href="${service.url}/agent/${did}"/>`))
  for (const rest of ['', '/badge.svg?style=seal', '/preview.png', '/qr.svg']) {
    const moved = await ask(service, `/agent/shopper${rest}`)
    assert.deepEqual(
      [moved.status, moved.headers.get('location'), moved.headers.get('cache-control')],
      [302, `/agent/${did}${rest}`, 'no-store'],
    )
  }
})

test('an active certificate shows the owner, the assurance of their verification and the reasons of the grade', async (t) => {
  const service = await startTestService(t, { SERVICE_NAME: 'Guild of Agents' })
  const key = newKey()
  const owner = await service.operator.addVerifiedOwner('ada', 'high')
  const did = await claimAgent(service, owner, key)
  await giveOwnerName(service, owner, 'Ada Lovelace', did)
  const profile = { username: 'shopper', displayName: 'Shopper', description: 'Buys things.' }
  await giveProfile(service, did, { ...profile, channels: CHANNELS })

  const { text: html } = await ask(service, `/agent/${did}`)

  const text = textOf(html)
  for (const each of [
    'Active This certificate is valid.',
    'Its owner calls themselves “ Ada Lovelace ”. This name is not verified. Their identity was verified',
    'Reachable at shopper.example and 1 more.',
    'Self-declared name “ Ada Lovelace ” @ada',
    'In person, high assurance',
    'Why the grade is A',
    'Domain: shopper.example, last checked on',
    'GitHub: @shopper',
    'Buys things.',
    'Key number 1, since ',
    did,
    key.publicKey,
    `did:web:localhost%3A${service.env.PORT}:agent:${did}`,
    `npx -y ${cliPackage(service.url)} verify ${did} --url ${service.url}`,
    `curl -s ${service.url}/api/v1/agent/${did}`,
  ]) {
    assert.ok(text.includes(each), `${each}\n${text}`)
  }
  assert.match(
    text,
    /Their identity was verified in [A-Z]\w+ 20\d\d \(In person, high assurance\)\./,
  )
  assert.match(text, /Active since [A-Z]\w+ 20\d\d\. Reachable/)
  const thumbprint = keyThumbprint(Buffer.from(key.publicKey, 'base64'))
  assert.ok(text.replaceAll(' ', '').includes(thumbprint))
  assert.doesNotMatch(text, /agentId|\bmain\b/, 'the label is the owner’s own')
})

test('expired verifications are not shown, and missing ones are named as missing', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, owner)
  const stale = { kind: 'domain', handleOrDomain: 'old.example', tier: 2, freshUntil: 1 } as const
  await giveProfile(service, did, { channels: [stale] })
  await service.operator.db.write(async (tx) => {
    await tx.db.deleteFrom('identity_verifications').execute()
  })
  await giveOwnerName(service, owner, 'Ada', did)
  const text = textOf((await ask(service, `/agent/${did}`)).text)
  assert.doesNotMatch(text, /old\.example/)
  assert.match(text, /This agent has no verified channel/)
  assert.match(text, /Reachability 0 of 2 No verified channel\./)
  assert.match(text, /No current identity verification\./)
  assert.match(
    text,
    /Its owner calls themselves “ Ada ”\. Nobody has verified this name or their identity\./,
  )
  assert.match(text, /It has no verified address\./)
  assert.match(text, /Why the grade is E/)
})

test('an owner verified with a low-assurance account is not shown as having proved their identity', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner('ada', 'low'))
  const text = textOf((await ask(service, `/agent/${did}`)).text)
  assert.match(text, /This name is not verified\..*, low assurance\)\./)
  assert.doesNotMatch(text, /has proved/)
})

test('the certificate of an agent whose owner was deleted shows no owner', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada', 'high')
  const did = await claimAgent(service, owner)
  await service.operator.db.write(async (tx) => {
    const gone = { display_name: '', username: 'deleted-1', deleted_at: Date.now() }
    await tx.db.updateTable('owners').set(gone).where('id', '=', owner).execute()
    await tx.db.deleteFrom('identity_verifications').where('owner_id', '=', owner).execute()
    const event = { seq: tx.nextSeq(), at: Date.now(), tail: null, ownerId: owner, payload: {} }
    await appendEvent(tx, { ...event, type: 'owner.deleted' })
  })
  await setStatus(service, did, 'revoked', 'owner_deleted')
  const text = textOf((await ask(service, `/agent/${did}`)).text)
  assert.match(text, /Owner The owner has deleted their account/)
  assert.doesNotMatch(text, /deleted-1|Owner ada/)
  assert.equal((await fetch(`${service.url}/agent/${did}/preview.png`)).status, 200)
})

for (const status of ['suspended', 'revoked'] as const) {
  test(`a certificate that is ${status} cannot be mistaken for an active one`, async (t) => {
    const service = await startTestService(t)
    const did = await claimAgent(service, await service.operator.addVerifiedOwner('ada', 'high'))
    await giveProfile(service, did, { displayName: 'Courier', channels: CHANNELS })
    const active = (await ask(service, `/agent/${did}`)).text
    await setStatus(service, did, status, 'key_compromised')

    const { status: code, text: html } = await ask(service, `/agent/${did}`)

    assert.equal(code, 200)
    const text = textOf(html)
    assert.match(
      metaOf(html, 'title'),
      new RegExp(`^${status.toUpperCase()}: agent named “Courier” `),
    )
    assert.match(metaOf(html, 'description'), new RegExp(`is ${status} since .* Do not rely on it`))
    assert.match(metaOf(html, 'og:title'), new RegExp(`^${status.toUpperCase()}`))
    assert.match(html, /<body class="bg-(warn|bad)-wash/)
    assert.doesNotMatch(active, /<body class="bg-(warn|bad)-wash/)
    assert.doesNotMatch(text, /certificate is valid|has proved|\bActive\b/)
    assert.match(text, /key compromised/)
    assert.match(text, /Why the grade is E/)
    assert.match(html, /role="alert"/)
    assert.equal(jsonLdOf(html).certificationStatus, 'https://schema.org/CertificationInactive')
  })
}

test('titles and link previews show a name as the name of an agent, beside its owner', async (t) => {
  const service = await startTestService(t)
  const [verified, unverified] = [
    await service.operator.addVerifiedOwner('ada', 'high'),
    await service.operator.addVerifiedOwner('grace', 'high'),
  ]
  for (const [ownerId, owner] of [
    [verified, 'owner verified by In person'],
    [unverified, 'owner not verified'],
  ] as const) {
    const did = await claimAgent(service, ownerId)
    await giveProfile(service, did, { displayName: 'Verified by “Stripe”' })
    if (ownerId === unverified) {
      await service.operator.db.write(async (tx) => {
        await tx.db.deleteFrom('identity_verifications').where('owner_id', '=', ownerId).execute()
        const event = { seq: tx.nextSeq(), at: Date.now(), tail: null, ownerId, payload: {} }
        await appendEvent(tx, { ...event, type: 'owner.updated' })
      })
    }
    // The service follows what another connection has written.
    const read = async () => (await ask(service, `/agent/${did}`)).text
    await until(async () => metaOf(await read(), 'title').includes(owner))
    const html = await read()
    for (const name of ['title', 'og:title', 'og:image:alt'])
      assert.ok(
        metaOf(html, name).startsWith(`Agent named “Verified by ’Stripe’”, ${owner}: `),
        name,
      )
    assert.match(metaOf(html, 'og:description'), /^The agent named “Verified by ’Stripe’” holds /)
  }
})

test('a certificate page uses the names of the deployment and no default names', async (t) => {
  const service = await startTestService(t, {
    SHORT_NAME: 'acme',
    ID_HEADER: 'AcmeID',
    SERVICE_NAME: 'Acme & Sons',
    BASE_URL: 'https://agents.example',
  })
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const { text: html, headers } = await ask(service, `/agent/${did}`)
  assert.match(did, /^acme:agent:/)
  assert.doesNotMatch(html, /svc|ServiceID|Countersign|localhost/)
  assert.match(
    metaOf(html, 'og:image'),
    /^https:\/\/agents\.example\/agent\/acme:agent:\w+\/preview\.png$/,
  )
  assert.equal(metaOf(html, 'og:site_name'), 'Acme &amp; Sons')
  assert.match(headers.get('strict-transport-security') ?? '', /max-age=31536000/)
  const { links } = JSON.parse((await ask(service, `/api/agents/${did}`)).text)
  for (const url of Object.values(links) as string[]) {
    assert.ok(html.includes(new URL(url).pathname), url)
  }
})

test('a certificate page is revalidated on each request, with 304 if it has not changed', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  await untilLogged(service, 1)
  const first = await ask(service, `/agent/${did}`)
  assert.equal(first.headers.get('cache-control'), 'public, max-age=0, must-revalidate')
  const headers = { 'if-none-match': first.headers.get('etag') as string }
  const again = await ask(service, `/agent/${did}`, { headers })
  assert.equal(again.status, 304)
  assert.equal(again.text, '')
  await setStatus(service, did, 'revoked')
  assert.equal((await ask(service, `/agent/${did}`, { headers })).status, 200)
})

test('a certificate page has JSON-LD of a schema.org Certification', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const { text: html } = await ask(service, `/agent/${did}`)
  const { certificationIdentification, certificationStatus, certificationRating, issuedBy } =
    jsonLdOf(html)
  assert.equal(certificationIdentification, did)
  assert.equal(certificationStatus, 'https://schema.org/CertificationActive')
  assert.equal((certificationRating as { ratingValue: string }).ratingValue, 'C')
  assert.deepEqual(issuedBy, { '@type': 'Organization', name: 'Countersign', url: service.url })
})
