import { startTestService } from '../../../../../test/support/service.ts'
import { keyRaces } from './key-races.ts'

keyRaces('races in one process', async (t) => ({
  service: await startTestService(t, { RECOVERY_DELAY: '0' }),
  settled: (assertion) => assertion(),
}))
