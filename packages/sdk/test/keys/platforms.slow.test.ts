import { sameVerdicts } from './support/same-verdicts.ts'

sameVerdicts(2_000)
