import { Readable } from 'node:stream'
import { exportSchema } from '@countersign/protocol'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { exportAccount } from './export-account.ts'

/** Everything that the service holds on the owner, as a file. */
export function exportRoute(app: App, { deps, signedIn }: OwnerSide): void {
  const { naming } = deps.site
  app.get('/api/account/export', {
    schema: ownerSchema({
      operationId: 'exportAccount',
      summary: 'Everything that the service holds on the owner, as a file',
      response: { 200: exportSchema(naming) },
    }),
    handler: async (request, reply) => {
      const { account, agents } = await exportAccount(deps, await signedIn.require(request))
      const file = `${naming.shortName}-account-${account.owner.username}.json`
      reply
        .header('content-disposition', `attachment; filename="${file}"`)
        .type('application/json; charset=utf-8')
      return reply.send(Readable.from(write(account, agents)) as never)
    },
  })
}

/** One JSON object, its agents written as they come. */
async function* write(account: object, agents: AsyncIterable<object>): AsyncGenerator<string> {
  yield `${JSON.stringify(account).slice(0, -1)},"agents":[`
  let comma = ''
  for await (const agent of agents) {
    yield comma + JSON.stringify(agent)
    comma = ','
  }
  yield ']}\n'
}
