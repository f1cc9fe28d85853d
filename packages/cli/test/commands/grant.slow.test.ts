import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import {
  assign,
  createIssuer,
  startAuthorizationServer,
} from '../../../../test/support/grant-world.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import { certifiedCli, errorIn } from '../support/cli.ts'

test('grant prints the grant and nothing else', async (t) => {
  const service = await startTestService(t)
  const server = await startAuthorizationServer(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const cli = await certifiedCli(t, service, owner.ownerId)
  const args = ['grant', '--audience', server.url, '--token-endpoint', server.tokenEndpoint]

  const early = await cli.run('--json', ...args)
  assert.deepEqual([early.code, early.stdout, errorIn(early).code], [4, '', 'CONFLICT'])

  const { id, issuer } = await createIssuer(owner)
  await assign({ owner, did: cli.did }, id)
  const { code, stdout, stderr } = await cli.run(...args)
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/)
  const claims = decodeJwt(stdout.trim())
  assert.deepEqual([claims.iss, claims.sub], [issuer, cli.did])
  assert.deepEqual(claims.aud, [server.url, server.tokenEndpoint])

  const resource = 'https://api.example/'
  const grant = await cli.json<Record<string, string>>(...args, '--resource', resource)
  assert.deepEqual(Object.keys(grant), ['assertion', 'grantType', 'issuer', 'expiresAt'])
  assert.equal(decodeJwt(grant.assertion as string).resource, resource)

  const mixedUp = await cli.run('--json', ...args.slice(0, -1), 'https://attacker.example/token')
  assert.deepEqual([mixedUp.code, errorIn(mixedUp).code], [2, 'VALIDATION_ERROR'])
  assert.equal((await cli.run('grant', '--audience', server.url)).code, 2)
})
