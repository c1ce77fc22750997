import type { Endpoint } from './call.ts'
import { evaluationList, evaluations } from './routes/evaluations.ts'
import { imageList } from './routes/photos.ts'
import { users } from './routes/users.ts'

/** Every operation that the sandbox serves. */
export const endpoints: readonly Endpoint[] = [imageList, evaluations, evaluationList, users]
