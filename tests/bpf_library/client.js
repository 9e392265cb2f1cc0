// SPDX-License-Identifier: Apache-2.0
//
// Node's https client: client.js PORT CA PATH... on one kept connection, one after the other.
// A path that begins with "post:" is posted with a chunked body.
const fs = require('fs');
const https = require('https');

const [port, authority, ...paths] = process.argv.slice(2);
const agent = new https.Agent({keepAlive: true, maxSockets: 1, ca: fs.readFileSync(authority)});

function next() {
  const path = paths.shift();
  if (path === undefined) return agent.destroy();
  const isPost = path.startsWith('post:');
  const options = {
    agent, port, host: 'localhost', path: '/' + path.replace('post:', ''),
    method: isPost ? 'POST' : 'GET',
  };
  const request = https.request(options, answer => {
    let bytes = 0;
    answer.on('data', data => bytes += data.length);
    answer.on('end', () => {
      console.log(answer.statusCode, bytes);
      next();
    });
  });
  request.on('error', error => {
    console.log(error.code);
    next();
  });
  if (isPost) {
    request.write('GET /200 HTTP/1.1\r\n');
    request.write('Host: in.the.body\r\n\r\n');
  }
  request.end();
}

next();
