import { accountPatchSchema, accountSchema, ownerSchema as ownerOf } from '@countersign/protocol'
import type { App } from '../core/http/server.ts'
import { accountOf } from './account-overview.ts'
import { editAccount } from './edit-account.ts'
import { type OwnerSide, ownerSchema } from './owner-route-context.ts'

export function accountRoute(app: App, { deps, signedIn }: OwnerSide): void {
  app.get('/api/account', {
    schema: ownerSchema({
      operationId: 'account',
      summary: 'Names, passkeys, recovery codes, sessions, linked accounts',
      response: { 200: accountSchema() },
    }),
    handler: async (request) => accountOf(deps, await signedIn.require(request)),
  })

  app.patch('/api/account', {
    schema: ownerSchema({
      operationId: 'editAccount',
      summary: 'Change the names by which others know the owner',
      body: accountPatchSchema(),
      response: { 200: ownerOf() },
    }),
    handler: async (request) => {
      const owner = await editAccount(deps, await signedIn.require(request), request.body)
      return { username: owner.username, displayName: owner.display_name }
    },
  })
}
