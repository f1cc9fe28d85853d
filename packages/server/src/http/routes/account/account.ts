import { accountPatchSchema, accountSchema, ownerSchema as ownerOf } from '@countersign/protocol'
import { editAccount } from '../../../domain/account/edit-account.ts'
import { accountOf } from '../../../domain/account/overview.ts'
import type { App } from '../../bare-app.ts'
import { type OwnerSide, ownerSchema } from '../../owner/owner-side.ts'

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
