import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namingFor } from '@countersign/protocol'
import {
  type Deployment,
  escapeHtml,
  escapeJson,
  fillNames,
  ifLimited,
} from '../../packages/server/src/pages/docs/deployment-names.ts'
import { keptIn, nameTemplate } from './name-template.ts'

const ACME: Deployment = {
  naming: namingFor('acme', 'Acme-ID'),
  serviceName: 'Acme & Sons',
  baseUrl: 'https://agents.acme.example',
  limits: new Set(['claims']),
  features: { witness: false, cardFormats: false },
}
const USUAL: Deployment = {
  ...ACME,
  naming: namingFor(),
  serviceName: 'Countersign',
  baseUrl: 'http://localhost:8080',
}

const NAMED = {
  'svc:agent:… and svc-verify-…': 'acme:agent:… and acme-verify-…',
  '`svcDid`, `_svc-challenge.x`, `.svc-card`, svc-challenge-v1:':
    '`acmeDid`, `_acme-challenge.x`, `.acme-card`, acme-challenge-v1:',
  'ServiceID and X-ServiceID-Decision': 'Acme-ID and X-Acme-ID-Decision',
  '$http_serviceid and x-serviceid-did': '$http_acme_id and x-acme-id-did',
  'Countersign issues. Countersign’s': 'Acme & Sons issues. Acme & Sons’s',
  'http://localhost:8080/docs or https://id.example/a2a':
    'https://agents.acme.example/docs or https://agents.acme.example/a2a',
  'at localhost:8080': 'at agents.acme.example',
}

const NOT_NAMES = [
  'countersign claim, countersignd, @countersign/sdk, COUNTERSIGN_URL',
  'CountersignError svcX mysvc ServiceIDs',
  'http://localhost:80801 myid.example',
]

test('pages show the names of the deployment instead of the defaults', () => {
  for (const [written, said] of Object.entries(NAMED)) {
    assert.equal(fillNames(nameTemplate(written), ACME), said)
  }
})

test('text that only looks like a name is not changed', () => {
  for (const text of NOT_NAMES) assert.equal(fillNames(nameTemplate(text), ACME), text)
})

test('with the default names every page is served as it is written', () => {
  const written = 'svc:agent: svcDid ServiceID serviceid Countersign http://localhost:8080'
  assert.equal(fillNames(nameTemplate(written), USUAL), written)
})

test('marked text keeps the default names, and the marks are removed', () => {
  const written = 'svc, by default <!-- keep -->`svc` and `ServiceID`<!-- /keep -->, svc'
  assert.equal(
    fillNames(nameTemplate(written), ACME),
    'acme, by default `svc` and `ServiceID`, acme',
  )
  assert.deepEqual(keptIn(written), ['`svc` and `ServiceID`'])
  assert.throws(() => nameTemplate('<!-- keep -->svc'))
  assert.throws(() => nameTemplate('svc<!-- /keep -->'))
})

test('names are escaped for HTML', () => {
  const names = { ...ACME, serviceName: `<b>"A" & 'B'</b>` }
  const html = fillNames(nameTemplate('Countersign'), names, escapeHtml)
  assert.equal(html, '&lt;b&gt;&quot;A&quot; &amp; &#x27;B&#x27;&lt;/b&gt;')
})

test('names are escaped for JSON, and not filled in again', () => {
  const serviceName = '"\\ $& $1 \ue000 \ue011claims\ue012x\ue013'
  const json = fillNames(
    JSON.stringify(nameTemplate('Countersign')),
    { ...ACME, serviceName },
    escapeJson,
  )
  assert.equal(JSON.parse(json), serviceName)
})

test('a conditional text is there if one of its rate limits applies', () => {
  const template = `a${ifLimited(['reads', 'claims'], 'b')}${ifLimited(['reads'], 'c')}d`
  assert.equal(fillNames(template, ACME), 'abd')
})

test('the base URL of a loopback address is quoted in shell commands', () => {
  const template = nameTemplate('\ue00ahttp://localhost:8080/x\ue00a')
  assert.equal(fillNames(template, ACME), 'https://agents.acme.example/x')
  const baseUrl = 'http://[::1]:8080'
  assert.equal(fillNames(template, { ...ACME, baseUrl }), `'${baseUrl}/x'`)
})
