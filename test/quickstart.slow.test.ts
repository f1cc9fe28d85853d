import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { DocPage } from './support/doc-page.ts'
import { startHttpsFront } from './support/https-front.ts'
import { freePort } from './support/ports.ts'
import { ROOT, run, startServiceProcess, tempDir } from './support/service.ts'
import { shellInCheckout } from './support/shell.ts'
import { needs } from './support/tools.ts'
import { until } from './support/until.ts'

const PAGE = new DocPage('docs/quickstart.md', import.meta.filename)
const DID = /^svc:agent:[1-9A-HJ-NP-Za-km-z]{24}$/

test('the commands of docs/quickstart.md work', needs('openssl', 'curl'), async (t) => {
  const dir = tempDir(t)
  const port = await freePort()
  const url = `https://localhost:${port}`
  const service = await startServiceProcess(t, { BASE_URL: url })
  const front = await startHttpsFront(dir, port, Number(service.env.PORT))
  t.after(() => front.close())
  const shell = shellInCheckout(dir, {
    ...service.env,
    URL: url,
    CURL_CA_BUNDLE: front.certificate,
  })
  t.after(() => shell.close())
  const step = async (heading: string) => shell.run(PAGE.take(heading))
  const stepJson = async (heading: string) =>
    (await step(heading)).match(/\{.*?\}(?=\{|\s*$)/gs)?.map((text) => JSON.parse(text)) ?? []
  const resolve = async (did: string) => {
    const resolved = await run(
      process.execPath,
      [join(ROOT, 'test/support/resolve-did.mjs'), did],
      {
        NODE_EXTRA_CA_CERTS: front.certificate,
      },
    )
    return JSON.parse(resolved.stdout)
  }

  await step('Quick start with openssl and curl')
  await step('1. Create an owner and a claim token')
  await step("2. Create the agent's key")
  const publicKey = (await shell.run('echo "$PUBLIC_KEY"')).trim()
  const did = (await step('3. Claim the certificate')).trim()
  assert.match(did, DID)

  const lookups = await stepJson('4. Look it up')
  assert.equal(lookups.length, 3)
  for (const lookup of lookups) {
    assert.equal(lookup.verified, true)
    assert.equal(lookup.owner.identityMethod, 'in-person')
    assert.deepEqual(lookup.certificate, {
      id: did,
      status: 'active',
      verifyUrl: `/agent/${did}`,
    })
  }

  const [verified] = await stepJson('5. Prove possession of the key')
  assert.deepEqual(verified, {
    verified: true,
    signatureValid: true,
    certified: true,
    identityLevel: 'in-person',
    agent: { svcDid: did, displayName: `Agent ${did.slice(10, 16)}`, status: 'active' },
  })

  const [card, compactCard] = await stepJson('6. Read its cards')
  assert.equal(card.svcDid, did)
  assert.deepEqual(card.owner, { displayName: 'Ada Lovelace', username: 'ada' })
  assert.equal(card.certificateUrl, `${url}/agent/${did}`)
  assert.equal(compactCard.verificationStatus, 'verified')

  const [document] = await stepJson('7. Read its DID document')
  const didWeb = `did:web:localhost%3A${port}:agent:${did}`
  assert.deepEqual(document, {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'],
    id: didWeb,
    controller: didWeb,
    verificationMethod: [
      {
        id: `${didWeb}#key-1`,
        type: 'Ed25519VerificationKey2020',
        controller: didWeb,
        publicKeyBase64: publicKey,
      },
    ],
    authentication: [`${didWeb}#key-1`],
    service: [
      {
        id: `${didWeb}#agent-service`,
        type: 'AgentService',
        serviceEndpoint: `${url}/api/agents/${did}`,
      },
    ],
  })

  const resolved = await resolve(didWeb)
  assert.equal(resolved.didResolutionMetadata.error, undefined)
  assert.equal(resolved.didDocument.id, didWeb)
  const jwk = resolved.didDocument.verificationMethod.find(
    (each: { publicKeyJwk?: object }) => each.publicKeyJwk,
  )
  assert.equal(Buffer.from(jwk.publicKeyJwk.x, 'base64url').toString('base64'), publicKey)

  const [identified] = await stepJson('8. Identify a caller by its header')
  assert.equal(identified.svcDid, did)
  assert.equal(identified.suggestedUse, 'full')
  assert.equal(identified.proofOfPossession, false)

  const commands = PAGE.take('9. Suspend and revoke it').trim().split('\n')
  const [suspend, reactivate, revoke] = commands as [string, string, string]
  await shell.run(suspend)
  await untilStatus(`http://localhost:${service.env.PORT}`, did, 'suspended')
  const suspended = (await resolve(didWeb)).didDocument
  assert.deepEqual([suspended.authentication, suspended.verificationMethod], [[], []])
  await shell.run(reactivate)
  await untilStatus(`http://localhost:${service.env.PORT}`, did, 'active')
  await shell.run(revoke)
  await untilStatus(`http://localhost:${service.env.PORT}`, did, 'revoked')
  assert.notEqual((await resolve(didWeb)).didResolutionMetadata.error, undefined)

  await shell.run('TOKEN=$(npx countersignd token issue ada)')
  const second = (await step('3. Claim the certificate')).trim()
  assert.match(second, DID)
  assert.notEqual(second, did)
  PAGE.assertAllTaken()
})

/** What countersignd changes shows in a running server soon. */
async function untilStatus(url: string, did: string, status: string): Promise<void> {
  await until(async () => {
    const lookup = (await (await fetch(`${url}/api/v1/agent/${did}`)).json()) as {
      verified: boolean
      certificate: { status: string }
    }
    if (lookup.certificate.status !== status) return false
    assert.equal(lookup.verified, status === 'active')
    return true
  }, 30_000)
}
