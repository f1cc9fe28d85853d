/** Documents in the shape of the contract, from which the tests of the wire schemas start. */
export const DID = 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj'
export const KEY = '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='
export const TIME = '2026-01-01T00:00:00.000Z'

export const card = {
  svcDid: DID,
  displayName: 'Ada',
  username: 'ada',
  description: 'Answers questions.',
  avatarUrl: 'https://agents.example/avatar/1.png',
  status: 'active',
  claimedAt: TIME,
  owner: { displayName: 'Acme', username: 'acme' },
  verification: { provider: 'eid', label: 'eID', verifiedAt: TIME },
  channels: [{ kind: 'domain', handleOrDomain: 'agents.example' }],
  grade: 'A',
  tier: 2,
  gradeIsFallback: false,
  certificateUrl: 'https://agents.example/agent/ada',
}

export const lookup = {
  verified: true,
  owner: { identityMethod: 'eid', identityLevel: 'verified', claimedAt: TIME },
  certificate: { id: DID, status: 'active', verifyUrl: '/agent/ada' },
}
