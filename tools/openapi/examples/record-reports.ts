import type { ReceivedReport } from '@countersign/protocol'
import { signedHeaders } from '../../../test/support/sign-request.ts'
import type { Agents } from './record-agents.ts'
import { EXAMPLE_SERVICE, ownAgentPath, type World } from './world.ts'

const SHOP = 'https://shop.example'

/** A shop reports an agent of Ada, who answers. The shop withdraws its report. */
export async function recordReports({ ada, anyone }: World, { travel }: Agents): Promise<void> {
  const url = `${SHOP}/search?q=lisbon`
  const headers = await signedHeaders(EXAMPLE_SERVICE, travel.did, travel.key, { url })
  const evidence = { method: 'GET', url, headers: headers.filter(([name]) => name !== 'Host') }
  const report = {
    agent: travel.did,
    category: 'rate',
    text: '4,800 searches in five minutes, after three answers with 429.',
    contact: 'abuse@shop.example',
    evidence: [evidence],
  }
  const sent = await anyone.record<ReceivedReport>('createReport', 'POST', '/api/v1/reports', {
    body: report,
    status: 201,
  })
  const reports = `${ownAgentPath(travel)}/reports`
  await ada.record('reportEvidence', 'GET', `${reports}/${sent.id}/evidence`)
  await ada.record('answerReport', 'POST', `${reports}/${sent.id}/answer`, {
    body: { text: 'A loop in a new release. It is fixed since noon, thank you.' },
    status: 204,
  })
  await ada.record('agentReports', 'GET', reports)
  const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  await anyone.record('reportState', 'GET', `/api/v1/reports/${sent.id}`, as(sent.token))
  await anyone.record('withdrawReport', 'DELETE', `/api/v1/reports/${sent.id}`, {
    ...as(sent.token),
    status: 204,
  })
}
