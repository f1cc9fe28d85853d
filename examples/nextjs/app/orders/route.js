import { agentOf, gateway } from '@countersign/gateway/fetch'

const { SERVICE = 'http://localhost:8080', ORIGIN = 'http://localhost:3000' } = process.env

// Only agents of verified owners that sign their requests for this origin.
const admit = gateway({
  service: SERVICE,
  audiences: [ORIGIN],
  policy: { requireProof: true, levels: { unverified: 'deny' } },
})

export const GET = admit((request) => Response.json({ orders: [], agent: agentOf(request).did }))

export const POST = admit(async (request) => {
  const { item } = await request.json()
  return Response.json({ item, orderedBy: agentOf(request).did }, { status: 201 })
})
