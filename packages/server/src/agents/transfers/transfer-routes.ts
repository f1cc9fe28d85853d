import {
  emptyBody,
  newTransferSchema,
  startedTransferSchema,
  transferSchema,
  transfersSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import { type OwnerRouteContext, ownerSchema } from '../../accounts/owners/owner-routes.ts'
import type { App } from '../../http/server.ts'
import { acceptTransfer, cancelTransfer, declineTransfer } from './answer-transfer.ts'
import { listTransfers } from './list-transfers.ts'
import { startTransfer, type TransferDeps } from './start-transfer.ts'

const TRANSFERS = '/api/account/transfers'

/** Registers the routes by which agents move to another owner. */
export function transferRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext<TransferDeps>,
): void {
  const { naming } = deps.site
  app.get(TRANSFERS, {
    schema: ownerSchema({
      operationId: 'listTransfers',
      summary: 'List the transfers of agents to and from this owner',
      response: { 200: transfersSchema(naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return listTransfers(deps, ownerId)
    },
  })

  app.post(TRANSFERS, {
    schema: ownerSchema({
      operationId: 'startTransfer',
      summary:
        'Offer agents to another owner; needs a recent sign-in with a passkey or provider added 72 hours ago, or the passkey that created the account',
      body: newTransferSchema(naming),
      response: { 201: startedTransferSchema() },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireRecentSession(request)
      return reply.code(201).send(await startTransfer(deps, session, request.body))
    },
  })

  const params = Type.Object({ id: Type.String({ description: 'the id of the transfer' }) })
  const answer = {
    params,
    body: emptyBody(),
    response: { 200: transferSchema(naming) },
  }
  app.post(`${TRANSFERS}/:id/accept`, {
    schema: ownerSchema({
      operationId: 'acceptTransfer',
      summary:
        'Accept agents that were offered; needs a recent sign-in and a current identity verification of the receiver',
      ...answer,
    }),
    handler: async (request) => {
      const session = await authenticator.requireRecentSession(request)
      return acceptTransfer(deps, session, request.params.id)
    },
  })

  app.post(`${TRANSFERS}/:id/decline`, {
    schema: ownerSchema({
      operationId: 'declineTransfer',
      summary: 'Decline agents that were offered, also after accepting them, until they move',
      ...answer,
    }),
    handler: async (request) => {
      const session = await authenticator.requireSession(request)
      return declineTransfer(deps, session, request.params.id)
    },
  })

  app.post(`${TRANSFERS}/:id/cancel`, {
    schema: ownerSchema({
      operationId: 'cancelTransfer',
      summary: 'Cancel a transfer that was started here, until the agents move',
      ...answer,
    }),
    handler: async (request) => {
      const session = await authenticator.requireSession(request)
      return cancelTransfer(deps, session, request.params.id)
    },
  })
}
