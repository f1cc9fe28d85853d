// The same with more cases.
import './differential.slow.test.ts'
