import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ClaimData,
  countersignCommand,
  opensslCommands,
  PLAIN_LABEL,
  sentenceForAgent,
} from '../packages/dashboard/src/pages/claim/commands.ts'
import { cliPackage } from '../packages/server/src/base/packages.ts'
import { newKey } from './support/key.ts'
import {
  type ClaimBody,
  postJson,
  startTestService,
  type TestService,
  tempDir,
} from './support/service.ts'
import { shellInCheckout } from './support/shell.ts'
import { needs } from './support/tools.ts'

/** The commands that the dashboard's claim page shows for a token of this service. */
function factsOf(service: TestService, token: string, label: string): ClaimData {
  const { naming, serviceName } = service.settings
  const { shortName } = naming
  const until = '2027-03-01 14:05 UTC'
  return {
    token,
    label,
    baseUrl: service.url,
    cliPackage: cliPackage(service.url),
    shortName,
    serviceName,
    until,
  }
}

async function assertVerified(service: TestService, did: string | undefined): Promise<void> {
  const response = await fetch(`${service.url}/api/v1/agent/${did}`)
  assert.equal(((await response.json()) as { verified: boolean }).verified, true)
}

test(
  "the claim page's commands for openssl claim two agents",
  needs('openssl', 'curl'),
  async (t) => {
    const service = await startTestService(t, { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID' })
    const ownerId = await service.operator.addVerifiedOwner()
    const shell = shellInCheckout(tempDir(t), service.env)
    t.after(() => shell.close())
    for (const label of ['main', 'night.shift_2-b']) {
      const token = await service.operator.issueToken(ownerId)
      const answer = JSON.parse(await shell.run(opensslCommands(factsOf(service, token, label))))
      await assertVerified(service, answer.acmeDid)
    }
  },
)

test("the claim page's commands for countersign claim an agent", async (t) => {
  const service = await startTestService(t)
  const token = await service.operator.issueToken(await service.operator.addVerifiedOwner())
  const shell = shellInCheckout(tempDir(t), service.env)
  t.after(() => shell.close())
  const printed = await shell.run(countersignCommand(factsOf(service, token, 'night-shift')))
  assert.match(printed, /night-shift/)
  await assertVerified(service, /svc:agent:\w{24}/.exec(printed)?.[0])
})

test('an agent that follows the claim page’s instructions gets its certificate', async (t) => {
  const service = await startTestService(t)
  const token = await service.operator.issueToken(await service.operator.addVerifiedOwner())
  const words = sentenceForAgent(factsOf(service, token, 'main'))
  const found = (pattern: RegExp) => pattern.exec(words)?.[1] ?? ''
  const key = newKey()
  const body: ClaimBody = {
    claimToken: found(/claimToken is (\S+);/),
    agentId: found(/agentId is (\S+);/),
    publicKey: key.publicKey,
    signature: key.sign(found(/without a newline: (\S+)\n/)),
  }
  const answer = await postJson(found(/POST JSON to (\S+) with/), body)
  const field = found(/in the field (\w+):/)
  await assertVerified(service, ((await answer.json()) as Record<string, string>)[field])
})

test('labels in the commands have no special meaning to a shell, JSON or an option parser', () => {
  for (const label of ['', '-x', '$(id)', '`id`', 'a b', 'a;b', "a'b", 'a"b', 'a\nb', 'a|b', 'é']) {
    assert.equal(PLAIN_LABEL.test(label), false, label)
  }
  for (const label of ['main', '2', 'Travel-Bot_1.0']) assert.equal(PLAIN_LABEL.test(label), true)
})
