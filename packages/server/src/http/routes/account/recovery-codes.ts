import { emptyBody, recoveryCodesSchema } from '@countersign/protocol'
import { renewRecoveryCodes } from '../../../domain/account/recovery-codes.ts'
import type { App } from '../../bare-app.ts'
import { type OwnerSide, ownerSchema } from '../../owner/owner-side.ts'

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
