import { Readable } from 'node:stream'
import { deletionRequestSchema, exportSchema, revokedSchema } from '@countersign/protocol'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import { type OwnerRouteContext, ownerSchema } from '../../accounts/owners/owner-routes.ts'
import type { App } from '../../http/server.ts'
import { type DeletionDeps, deleteAccount } from './delete-account.ts'
import { exportAccount } from './export-account.ts'

/** Registers the route that deletes an account. */
export function deletionRoute(
  app: App,
  { deps, authenticator }: OwnerRouteContext & { readonly deps: DeletionDeps },
): void {
  app.post('/api/account/deletion', {
    schema: ownerSchema({
      operationId: 'deleteAccount',
      summary: 'Delete the account and revoke its agents permanently; needs a recent sign-in',
      body: deletionRequestSchema(),
      response: { 200: revokedSchema() },
    }),
    handler: async (request, reply) => {
      const { ownerId, membership } = await authenticator.requireRecentSession(request)
      await assertOwnerNotSuspended(deps.db.read, ownerId)
      const revokedAgents = await deleteAccount(deps, ownerId, request.body.username)
      // Who deletes an organisation is still signed in.
      if (membership === null) authenticator.clearCookie(reply)
      return { revokedAgents }
    },
  })
}

/** Registers the route that exports an account as a file. */
export function exportRoute(app: App, { deps, authenticator }: OwnerRouteContext): void {
  const { naming } = deps.site
  app.get('/api/account/export', {
    schema: ownerSchema({
      operationId: 'exportAccount',
      summary: 'Export all data about the owner',
      response: { 200: exportSchema(naming) },
    }),
    handler: async (request, reply) => {
      const { account, agents } = await exportAccount(
        deps,
        await authenticator.requireSession(request),
      )
      const file = `${naming.shortName}-account-${account.owner.username}.json`
      reply
        .header('content-disposition', `attachment; filename="${file}"`)
        .type('application/json; charset=utf-8')
      return reply.send(Readable.from(serialize(account, agents)) as never)
    },
  })
}

/** Serializes an export as one JSON object, and streams the agents. */
async function* serialize(account: object, agents: AsyncIterable<object>): AsyncGenerator<string> {
  yield `${JSON.stringify(account).slice(0, -1)},"agents":[`
  let comma = ''
  for await (const agent of agents) {
    yield comma + JSON.stringify(agent)
    comma = ','
  }
  yield ']}\n'
}
