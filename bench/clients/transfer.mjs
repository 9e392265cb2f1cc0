// SPDX-License-Identifier: Apache-2.0
//
// Downloads one URL over TLS with Node's https and throws it away. Prints bytes per second.
// The certificate is not verified: the bench makes its own for each run.
import https from 'node:https';

const begin = process.hrtime.bigint();
https.get(process.argv[2], { rejectUnauthorized: false }, (answer) => {
  let total = 0;
  answer.on('data', (chunk) => { total += chunk.length; });
  answer.on('end', () => {
    console.log(total / (Number(process.hrtime.bigint() - begin) / 1e9));
  });
});
