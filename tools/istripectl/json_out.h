/* SPDX-License-Identifier: GPL-2.0 */
/* Configuration and live state as JSON. */
#ifndef ISTRIPECTL_JSON_OUT_H
#define ISTRIPECTL_JSON_OUT_H

#include <json-c/json.h>

#include "live.h"
#include "model.h"

/**
 * json_volume() - a volume's configuration
 * @volume: what to show; what cannot be read is left out
 *
 * Return: a new object.
 */
struct json_object *json_volume(const struct volume *volume);

/**
 * json_live() - add what sysfs says
 * @object: where to
 * @live: what to show; null for what cannot be read just now
 */
void json_live(struct json_object *object, const struct live *live);

/**
 * json_text() - add a text
 * @object: where to
 * @name: of the member
 * @text: what to add; NULL or empty: null
 */
void json_text(struct json_object *object, const char *name, const char *text);

/* Of all that is printed; it changes when something is no longer as it was, not when more comes. */
#define JSON_SCHEMA	1

/**
 * json_begin() - the object that all that is printed is in
 *
 * Return: a new object that has the number of its schema.
 */
struct json_object *json_begin(void);

/**
 * json_end() - print an object and free it
 * @object: from json_begin()
 */
void json_end(struct json_object *object);

/**
 * json_put_line() - print an object in one line and free it
 * @object: from json_begin()
 */
void json_put_line(struct json_object *object);

/**
 * json_line() - print {"schema": 1, "volumes": [...]} in one line and free it
 * @volumes: the array
 */
void json_line(struct json_object *volumes);

/**
 * json_print() - print {"schema": 1, "volumes": [...]} and free it
 * @volumes: the array
 */
void json_print(struct json_object *volumes);

#endif
