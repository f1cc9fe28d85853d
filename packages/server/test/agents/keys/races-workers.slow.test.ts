import assert, { AssertionError } from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../../test/support/until.ts'
import {
  asTestService,
  byWorker,
  startWithWorkers,
  type WorkerService,
} from '../../service/cluster/worker-service.ts'
import { keyRaces, type RacedService } from './key-races.ts'

const WORKERS = 2
/** Requests at once, which are more connections than one, so that each worker gets some. */
const AT_ONCE = 6

let workers: WorkerService

async function start(t: Parameters<typeof startWithWorkers>[0]): Promise<RacedService> {
  workers = await startWithWorkers(t, WORKERS, { RECOVERY_DELAY: '0' })
  return { service: asTestService(workers), settled }
}

/** Retries until requests to both workers have the outcome at once. */
const settled: RacedService['settled'] = (assertion) => {
  const holds = () => Promise.all(Array.from({ length: AT_ONCE }, assertion))
  return until(async () => {
    try {
      await holds()
      return true
    } catch (error) {
      if (error instanceof AssertionError) return false
      throw error
    }
  })
}

keyRaces('races between two workers', start, () => {
  // The 25 rotations and redemptions at once have as many connections.
  test('both workers took part', async () => {
    const metrics = await workers.metrics()
    for (const operation of ['keys', 'recover']) {
      const labels = `route="/api/v1/agent/:agent/${operation}"`
      const answered = byWorker(metrics, 'http_request_duration_seconds_count', labels)
      assert.equal(answered.size, WORKERS, operation)
    }
  })
})
