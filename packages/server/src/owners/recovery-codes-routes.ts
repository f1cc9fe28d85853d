import { emptyBody, recoveryCodesSchema } from '@countersign/protocol'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from './owner-route-context.ts'
import { renewRecoveryCodes } from './replace-recovery-codes.ts'

export function recoveryCodeRoute(app: App, { deps, signedIn }: OwnerSide): void {
  app.post('/api/account/recovery-codes', {
    schema: ownerSchema({
      operationId: 'renewRecoveryCodes',
      summary: 'Make ten new recovery codes, which end the old ones; needs a recent sign-in',
      body: emptyBody(),
      response: { 201: recoveryCodesSchema() },
    }),
    handler: async (request, reply) => {
      const session = await signedIn.requireRecent(request)
      const recoveryCodes = await renewRecoveryCodes(deps, session)
      return reply.code(201).send({ recoveryCodes: [...recoveryCodes] })
    },
  })
}
