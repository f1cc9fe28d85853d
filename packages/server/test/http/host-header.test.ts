import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../test/support/answer.ts'
import { askRaw } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { claimAgent, claimBody, startTestService } from '../../../../test/support/service.ts'

const HOSTS: Readonly<Record<string, string>> = {
  'no Host': '',
  'two Hosts': 'Host: a\r\nHost: b\r\n',
  'the same Host twice': 'Host: localhost\r\nHost: localhost\r\n',
  'two Hosts, spelled differently': 'host: a\r\nHOST: b\r\n',
  'two Hosts, one of them empty': 'Host: a\r\nHost:\r\n',
  'two Hosts, far apart': `Host: a\r\n${'X: y\r\n'.repeat(100)}Host: b\r\n`,
  'a header that only looks like Host': 'Hos: a\r\nX-Host: a\r\n',
}

test('a request without exactly one Host header is rejected, whatever its URL', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, owner)
  const claim = JSON.stringify(claimBody(await service.operator.issueToken(owner)))
  const posted = `Content-Type: application/json\r\nContent-Length: ${claim.length}\r\n`
  const requests: [string, string, string][] = [
    [`GET /api/v1/agent/${did}`, '', ''],
    [`GET /api/v1/agent/${did.slice(-24)}`, '', ''],
    [`GET /api/agents/${did}`, '', ''],
    ['GET /healthz', '', ''],
    ['GET /openapi.json', '', ''],
    ['GET /nowhere', '', ''],
    ['GET /api/v1/agent/%ff', '', ''],
    ['DELETE /api/v1/claim', '', ''],
    [`OPTIONS /api/v1/agent/${did}`, '', ''],
    ['POST /api/v1/claim', posted, claim],
  ]
  for (const [name, hosts] of Object.entries(HOSTS)) {
    await t.test(name, async () => {
      for (const [line, headers, body] of requests) {
        const bytes = `${line} HTTP/1.1\r\n${hosts}Connection: close\r\n${headers}\r\n${body}`
        const answer = await unchanged(service, () => askRaw(service, bytes))
        assertRefused(answer, 400, 'VALIDATION_ERROR')
      }
    })
  }
  const good = `POST /api/v1/claim HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${posted}\r\n${claim}`
  assert.equal((await askRaw(service, good)).status, 200, 'the token is burned')
})

test('HTTP/1.0 needs no Host header, but may have at most one', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const line = `GET /api/v1/agent/${did} HTTP/1.0\r\n`
  assert.equal((await askRaw(service, `${line}\r\n`)).status, 200)
  assert.equal((await askRaw(service, `${line}Host: x\r\n\r\n`)).status, 200)
  const two = await askRaw(service, `${line}Host: x\r\nHost: x\r\n\r\n`)
  assertRefused(two, 400, 'VALIDATION_ERROR')
})

test('no response is built from Host, X-Forwarded-Host or an absolute request target', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const forwarded = 'X-Forwarded-Host: evil.example\r\nForwarded: host=evil.example\r\n'
  const headers = `Host: evil.example\r\n${forwarded}Connection: close\r\n`
  const targets = [
    `/api/agents/${did}`,
    `/agent/${did}`,
    `/api/agents/${did}/card`,
    '/openapi.json',
  ]
  for (const target of targets) {
    for (const origin of ['', 'http://evil.example', 'https://evil.example:8443']) {
      const answer = await askRaw(service, `GET ${origin}${target} HTTP/1.1\r\n${headers}\r\n`)
      assert.ok(answer.status < 400, answer.text)
      assert.doesNotMatch(answer.text + answer.headers.get('location'), /evil/)
    }
  }
})

test('a request target in absolute form is the same request', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const get = (target: string) =>
    askRaw(service, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  const found = await get(`${service.url}/api/v1/agent/${did}`)
  assert.equal(found.status, 200)
  assert.equal(found.text, (await get(`/api/v1/agent/${did}`)).text)
  assertRefused(await get(`${service.url}/api/v1/agent/x`), 400, 'VALIDATION_ERROR')
  assertRefused(await get(`${service.url}/nowhere`), 404, 'NOT_FOUND')
})
