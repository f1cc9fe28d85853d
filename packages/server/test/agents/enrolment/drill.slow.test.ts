import { drill } from './drill.ts'

drill(50)
