import assert from 'node:assert/strict'
import { test } from 'node:test'
import { API_KEY_SCOPES, type CreatedApiKey } from '@countersign/protocol'
import { jsonOf } from './support/answer.ts'
import { DocPage } from './support/doc-page.ts'
import { claimBody, postJson, startTestService } from './support/service.ts'
import { signIn } from './support/signed-in.ts'

const PAGE = new DocPage('docs/owners-api.md', import.meta.filename)

const HEADINGS = [
  'Send requests',
  'Create a claim token',
  'Name the agent',
  'Prove a channel',
  'Suspend, reactivate, revoke',
  'Follow changes',
]

test('the program of docs/owners-api.md works with nothing but fetch', async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner('ada'))
  const body = { name: 'The program of the page', scopes: API_KEY_SCOPES }
  const { secret } = jsonOf<CreatedApiKey>(await owner.post('/api/account/api-keys', body))
  const said: string[] = []
  const afterToken = async () => {
    const token = said[0]?.split(' ')[0] as string
    assert.equal((await postJson(`${service.url}/api/v1/claim`, claimBody(token))).status, 200)
  }

  await runPieces({ SERVICE: service.url, API_KEY: secret }, (line) => said.push(line), afterToken)

  assert.match(said[0] as string, /^svc-verify-[0-9a-f]{32} expires in 600 seconds$/)
  assert.match(said[4] as string, /^Value: token=\w{22} did=svc:agent:\w{24} expiry=\S+Z$/)
  assert.match(said[1] as string, new RegExp(`^${service.url}/agent/svc:agent:\\w{24}$`))
  const types = said.splice(7).map((line) => line.replace(/^\S+Z (\S+) .*/, '$1'))
  for (const type of ['agent.revoked', 'agent.claimed', 'owner.api_key_created'])
    assert.ok(types.includes(type), types.join())
  assert.deepEqual(
    said.filter((_, i) => ![0, 1, 4].includes(i)),
    [
      'Name: _svc-challenge.agents.example.com',
      'Type: TXT',
      'agents.example.com is pending',
      'revoked',
    ],
  )
})

/** Runs the pieces of the page as one program; what an agent does in between is done where the page says so. */
async function runPieces(
  env: Readonly<Record<string, string>>,
  say: (line: string) => void,
  afterToken: () => Promise<void>,
): Promise<void> {
  const pieces = HEADINGS.map((heading) => PAGE.take(heading))
  PAGE.assertAllTaken()
  const [setUp, token, ...rest] = pieces
  const program = [setUp, token, 'await afterToken()', ...rest].join('\n')
  const AsyncFunction = runPieces.constructor as new (
    ...parts: string[]
  ) => (...values: unknown[]) => Promise<void>
  const run = new AsyncFunction('process', 'console', 'afterToken', program)
  await run({ env }, { log: say }, afterToken)
}
