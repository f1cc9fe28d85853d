import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DocPage } from './support/doc-page.ts'
import { claimBody, postJson, startTestService, tempDir } from './support/service.ts'
import { shellInCheckout } from './support/shell.ts'

const PAGE = new DocPage('docs/owners-api.md', import.meta.filename)

const HEADINGS = [
  'Sign in',
  'Get a claim token',
  'Give the agent a face',
  'Prove where it can be reached',
  'Read notifications',
  'Take it back',
  'Sign out',
]

test('the program of docs/owners-api.md works with nothing but fetch', async (t) => {
  const service = await startTestService(t)
  await service.operator.addVerifiedOwner('ada')
  const shell = shellInCheckout(tempDir(t), service.env)
  t.after(() => shell.close())
  const link = await shell.run(PAGE.take("The owners' API with nothing but fetch"))
  const said: string[] = []
  const afterToken = async () => {
    const token = said[0]?.split(' ')[0] as string
    assert.equal((await postJson(`${service.url}/api/v1/claim`, claimBody(token))).status, 200)
  }

  await runPieces(link.trim(), (line) => said.push(line), afterToken)

  assert.match(said[0] as string, /^svc-verify-[0-9a-f]{32} is good for 600 seconds$/)
  assert.match(said[4] as string, /^Value: token=\w{22} did=svc:agent:\w{24} expiry=\S+Z$/)
  assert.deepEqual(
    said.filter((_, i) => i !== 0 && i !== 4),
    [
      `${service.url}/agent/adas-travel-assistant`,
      'Name: _svc-challenge.agents.example.com',
      'Type: TXT',
      'agents.example.com is pending',
      'new_sign_in: New sign-in to your account',
      'revoked',
    ],
  )
})

/** Runs the pieces of the page as one program; what an agent does in between is done where the page says so. */
async function runPieces(
  link: string,
  say: (line: string) => void,
  afterToken: () => Promise<void>,
): Promise<void> {
  const pieces = HEADINGS.map((heading) => PAGE.take(heading))
  PAGE.assertAllTaken()
  const [signIn, token, ...rest] = pieces
  const program = [signIn, token, 'await afterToken()', ...rest].join('\n')
  const AsyncFunction = runPieces.constructor as new (
    ...parts: string[]
  ) => (...values: unknown[]) => Promise<void>
  const run = new AsyncFunction('process', 'console', 'afterToken', program)
  await run({ env: { LINK: link } }, { log: say }, afterToken)
}
